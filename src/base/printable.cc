#include "base/printable.h"

#include "fmt/format.h"

namespace stoker {
namespace {

constexpr std::size_t kLongestLine = 2000;
constexpr std::string_view kCut = " ... ";
constexpr std::size_t kKeptEnd = 500;  // of a line that is cut: the end often says what to do

unsigned char ByteAt(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool IsContinuation(std::string_view text, std::size_t at) {
  return (ByteAt(text, at) & 0xC0U) == 0x80U;
}

// Bytes of the character that `text` begins with, 0 where it begins with none (Unicode Standard,
// table 3-7).
std::size_t CharacterBytes(std::string_view text) {
  const unsigned char lead = ByteAt(text, 0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!IsContinuation(text, i)) return 0;
  }
  const unsigned char second = ByteAt(text, 1);
  const bool too_long = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool beyond = lead == 0xF4 && second >= 0x90;
  return too_long || surrogate || beyond ? 0 : bytes;
}

// The first and the last of a line that is too long, whole characters of both.
std::string Shorten(const std::string& line) {
  std::size_t head = kLongestLine - kKeptEnd - kCut.size();
  std::size_t tail = line.size() - kKeptEnd;
  while (IsContinuation(line, head)) --head;
  while (IsContinuation(line, tail)) ++tail;
  return line.substr(0, head).append(kCut).append(line, tail);
}

}  // namespace

TextUnit FirstTextUnit(std::string_view text) {
  const std::size_t bytes = CharacterBytes(text);
  if (bytes == 0) return {TextUnit::Kind::kInvalid, 1};
  const unsigned char lead = ByteAt(text, 0);
  const bool c0 = lead < 0x20 || lead == 0x7F;
  const bool c1 = lead == 0xC2 && ByteAt(text, 1) < 0xA0;
  return {c0 || c1 ? TextUnit::Kind::kControl : TextUnit::Kind::kCharacter, bytes};
}

std::string OneLine(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const TextUnit unit = FirstTextUnit(text);
    if (unit.kind == TextUnit::Kind::kCharacter) {
      line += text.substr(0, unit.bytes);
    } else {
      // The last byte of U+0080 to U+009F in UTF-8 is its number.
      line += fmt::format("\\x{:02x}", ByteAt(text, unit.bytes - 1));
    }
    text.remove_prefix(unit.bytes);
  }
  return line.size() > kLongestLine ? Shorten(line) : line;
}

}  // namespace stoker
