#include "text/kimi.h"

#include "base/check.h"
#include "text/utf8.h"

namespace stoker::text {
namespace {

constexpr std::size_t kLongestChunkChars = 400'000;
constexpr std::size_t kLongestRunChars = 25'000;

}  // namespace

std::string KimiPattern() {
  // The ideographs and numerals of Unicode 15 and 15.1, which PCRE2 10.42 (Unicode 14) does not
  // know yet. Other characters that it does not know change no token of the published vocabulary.
  const std::string late_han = R"(\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})";
  const std::string late_digits = R"(\x{1D2C0}-\x{1D2D3})";
  // A script of its own (sc:) because a bare \p{Han} would take in marks that Han shares with
  // Kana, such as U+3001.
  const std::string han = R"(\p{sc:Han})" + late_han;
  const std::string digits = R"(\p{N})" + late_digits;
  const std::string letters_digits = R"(\p{L})" + late_han + digits;
  // The published pattern's [A&&[^\p{Han}]], set intersections that PCRE2 has not. As the general
  // categories part all characters between them, the complement of A is the categories that A
  // leaves out, and the intersection is one negated class of those and Han.
  const std::string upper = R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C})" + han + "]";
  const std::string lower = R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C})" + han + "]";
  const std::string lead = R"([^\r\n)" + letters_digits + "]?";
  const std::string contraction = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)";
  // \s is spelled out: PCRE2's own also takes in U+180E.
  const std::string alternatives[] = {
      "[" + han + "]+",
      lead + upper + "*" + lower + "+" + contraction,
      lead + upper + "+" + lower + "*" + contraction,
      "[" + digits + "]{1,3}",
      R"( ?[^\p{White_Space})" + letters_digits + R"(]+[\r\n]*)",
      R"(\p{White_Space}*[\r\n]+)",
      R"(\p{White_Space}+(?!\P{White_Space}))",
      R"(\p{White_Space}+)",
  };
  std::string pattern;
  for (const std::string& alternative : alternatives) {
    if (!pattern.empty()) pattern += '|';
    pattern += alternative;
  }
  return pattern;
}

std::vector<std::size_t> KimiCuts(std::string_view text) {
  std::vector<std::size_t> cuts;
  if (text.size() <= kLongestRunChars) return cuts;
  std::size_t chunk_chars = 0;
  std::size_t run_chars = 0;
  bool in_space = false;
  for (std::size_t offset = 0; offset < text.size();) {
    const Utf8Unit unit = FirstUtf8Unit(text.substr(offset));
    STOKER_DCHECK(unit.kind == Utf8Unit::Kind::kCharacter);
    const bool is_space = IsPythonSpace(unit.code_point);
    if (chunk_chars == kLongestChunkChars) {
      cuts.push_back(offset);
      chunk_chars = 0;
      run_chars = 0;
    } else if (is_space == in_space && run_chars == kLongestRunChars) {
      cuts.push_back(offset);
      run_chars = 0;
    }
    run_chars = is_space == in_space ? run_chars + 1 : 1;
    in_space = is_space;
    ++chunk_chars;
    offset += unit.bytes;
  }
  return cuts;
}

}  // namespace stoker::text
