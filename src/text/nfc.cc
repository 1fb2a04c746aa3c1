#include "text/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/status.h"

namespace stoker::text {

bool IsSurelyNfc(std::string_view text) {
  // U+0300, the first combining mark, is CC 80; everything before it stays as it is in NFC.
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
}

absl::StatusOr<std::string> ToNfc(std::string_view text) {
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &raw,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> normalized(raw, &std::free);
  if (size < 0) return InvalidArgument("text cannot be normalized: {}", utf8proc_errmsg(size));
  return std::string(reinterpret_cast<const char*>(normalized.get()),
                     static_cast<std::size_t>(size));
}

}  // namespace stoker::text
