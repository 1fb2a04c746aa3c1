#include "text/quote.h"

#include "fmt/format.h"
#include "text/utf8.h"

namespace stoker::text {

std::string Printable(std::string_view text, std::size_t longest_bytes) {
  std::string printable;
  const std::string_view whole = text;
  while (!text.empty() && whole.size() - text.size() < longest_bytes) {
    const Utf8Unit unit = FirstUtf8Unit(text);
    const std::string_view bytes = text.substr(0, unit.bytes);
    const bool is_printable = unit.kind == Utf8Unit::Kind::kCharacter && unit.code_point >= 0x20 &&
                              (unit.code_point < 0x7F || unit.code_point >= 0xA0);
    if (is_printable) {
      printable += bytes;
    } else {
      for (const char byte : bytes) {
        printable += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
      }
    }
    text.remove_prefix(unit.bytes);
  }
  if (!text.empty()) printable += "…";
  return printable;
}

std::string Quote(std::string_view text) {
  constexpr std::size_t kLongestBytes = 40;
  return fmt::format("\"{}\"", Printable(text, kLongestBytes));
}

}  // namespace stoker::text
