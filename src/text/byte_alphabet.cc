#include "text/byte_alphabet.h"

#include <array>

#include "text/utf8.h"

namespace stoker::text {
namespace {

constexpr std::size_t kAlphabetEnd = 0x100 + 68;  // 188 bytes stand for themselves, 68 do not
constexpr int kNone = -1;

constexpr bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr std::array<int, kAlphabetEnd> ByteByCharacter() {
  std::array<int, kAlphabetEnd> table{};
  table.fill(kNone);
  std::size_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    table[StandsForItself(byte) ? static_cast<std::size_t>(byte) : next++] = byte;
  }
  return table;
}

}  // namespace

std::optional<std::string> FromByteAlphabet(std::string_view token) {
  static constexpr std::array<int, kAlphabetEnd> kBytes = ByteByCharacter();
  std::string bytes;
  while (!token.empty()) {
    const Utf8Unit unit = FirstUtf8Unit(token);
    if (unit.kind != Utf8Unit::Kind::kCharacter || unit.code_point >= kAlphabetEnd ||
        kBytes[unit.code_point] == kNone) {
      return std::nullopt;
    }
    bytes += static_cast<char>(kBytes[unit.code_point]);
    token.remove_prefix(unit.bytes);
  }
  return bytes;
}

}  // namespace stoker::text
