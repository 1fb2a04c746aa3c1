#include "text/quote.h"

#include "fmt/format.h"
#include "text/utf8.h"

namespace stoker::text {

std::string Quote(std::string_view text) {
  constexpr std::size_t kLongestBytes = 40;
  std::string quoted = "\"";
  const std::string_view whole = text;
  while (!text.empty() && whole.size() - text.size() < kLongestBytes) {
    const Utf8Unit unit = FirstUtf8Unit(text);
    const std::string_view bytes = text.substr(0, unit.bytes);
    const bool printable = unit.kind == Utf8Unit::Kind::kCharacter && unit.code_point >= 0x20 &&
                           (unit.code_point < 0x7F || unit.code_point >= 0xA0);
    if (printable) {
      quoted += bytes;
    } else {
      for (const char byte : bytes) {
        quoted += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
      }
    }
    text.remove_prefix(unit.bytes);
  }
  quoted += text.empty() ? "\"" : "…\"";
  return quoted;
}

}  // namespace stoker::text
