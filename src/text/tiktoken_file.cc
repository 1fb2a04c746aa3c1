#include "text/tiktoken_file.h"

#include <charconv>
#include <string>

#include "absl/strings/escaping.h"
#include "base/status.h"
#include "text/quote.h"

namespace stoker::text {
namespace {

absl::StatusOr<std::string> DecodeBase64(std::string_view encoded) {
  const absl::string_view input(encoded.data(), encoded.size());
  std::string bytes;
  // The library forgives blanks and missing padding; a damaged file should not pass for a whole
  // one.
  if (!absl::Base64Unescape(input, &bytes) || absl::Base64Escape(bytes) != input) {
    return InvalidArgument("{} is not base64", Quote(encoded));
  }
  return bytes;
}

absl::StatusOr<VocabularyEntry> ParseLine(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    return InvalidArgument("{} is not \"BASE64 RANK\"", Quote(line));
  }
  STOKER_ASSIGN_OR_RETURN(std::string bytes, DecodeBase64(line.substr(0, space)));
  const std::string_view digits = line.substr(space + 1);
  std::uint32_t rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || end != digits.data() + digits.size() || rank >= kMaxVocabularySize) {
    return InvalidArgument("{} is not a rank below {}", Quote(digits), kMaxVocabularySize);
  }
  return VocabularyEntry{.id = static_cast<TokenId>(rank), .bytes = std::move(bytes)};
}

absl::Status CheckRanks(const std::vector<VocabularyEntry>& entries) {
  std::vector<bool> seen(kMaxVocabularySize, false);
  for (const VocabularyEntry& entry : entries) {
    if (seen[Index(entry.id)]) return InvalidArgument("rank {} is given twice", Index(entry.id));
    seen[Index(entry.id)] = true;
  }
  for (std::size_t rank = 0; rank < entries.size(); ++rank) {
    if (!seen[rank]) {
      return InvalidArgument("rank {} is missing: {} tokens need ranks 0 to {}", rank,
                             entries.size(), entries.size() - 1);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<VocabularyEntry>> ParseTiktokenFile(std::string_view contents) {
  std::vector<VocabularyEntry> entries;
  std::size_t line_number = 0;
  while (!contents.empty()) {
    ++line_number;
    const std::size_t newline = contents.find('\n');
    const std::string_view line = contents.substr(0, newline);
    contents.remove_prefix(newline == std::string_view::npos ? contents.size() : newline + 1);
    if (line.empty()) continue;
    auto entry = ParseLine(line);
    if (!entry.ok()) return At("line " + std::to_string(line_number), entry.status());
    entries.push_back(*std::move(entry));
  }
  STOKER_RETURN_IF_ERROR(CheckRanks(entries));
  return entries;
}

}  // namespace stoker::text
