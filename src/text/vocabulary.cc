#include "text/vocabulary.h"

#include <algorithm>

#include "base/status.h"
#include "text/quote.h"

namespace stoker::text {
namespace {

// Entries by id, nullptr where there is none.
absl::StatusOr<std::vector<const VocabularyEntry*>> ById(
    const std::vector<VocabularyEntry>& entries) {
  std::size_t size = 0;
  for (const VocabularyEntry& entry : entries) {
    // A negative id becomes a huge index.
    if (Index(entry.id) >= kMaxVocabularySize) {
      return InvalidArgument("token {} has id {}, outside [0, {})", Quote(entry.bytes),
                             static_cast<std::int32_t>(entry.id), kMaxVocabularySize);
    }
    if (entry.bytes.empty()) return InvalidArgument("token id {} is empty", Index(entry.id));
    size = std::max(size, Index(entry.id) + 1);
  }
  std::vector<const VocabularyEntry*> by_id(size, nullptr);
  for (const VocabularyEntry& entry : entries) {
    const VocabularyEntry*& slot = by_id[Index(entry.id)];
    if (slot != nullptr) {
      return InvalidArgument("id {} is given twice, to {} and {}", Index(entry.id),
                             Quote(slot->bytes), Quote(entry.bytes));
    }
    slot = &entry;
  }
  return by_id;
}

}  // namespace

absl::StatusOr<Vocabulary> Vocabulary::Create(const std::vector<VocabularyEntry>& entries) {
  STOKER_ASSIGN_OR_RETURN(const auto by_id, ById(entries));
  std::size_t total_bytes = 0;
  for (const VocabularyEntry& entry : entries) total_bytes += entry.bytes.size();

  Vocabulary vocabulary;
  vocabulary.arena_.reserve(total_bytes);  // never grows after this: views into it stay valid
  vocabulary.ends_.reserve(by_id.size());
  vocabulary.index_.reserve(by_id.size());
  for (std::size_t id = 0; id < by_id.size(); ++id) {
    const std::size_t begin = vocabulary.arena_.size();
    if (const VocabularyEntry* entry = by_id[id]; entry != nullptr) {
      vocabulary.arena_.insert(vocabulary.arena_.end(), entry->bytes.begin(), entry->bytes.end());
      const absl::string_view key(vocabulary.arena_.data() + begin, entry->bytes.size());
      if (entry->ordinary && !vocabulary.index_.emplace(key, entry->id).second) {
        return InvalidArgument("token {} is given twice, as ids {} and {}", Quote(entry->bytes),
                               Index(vocabulary.index_.at(key)), id);
      }
    }
    vocabulary.ends_.push_back(vocabulary.arena_.size());
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string key(1, static_cast<char>(byte));
    const std::optional<TokenId> token = vocabulary.Find(key);
    if (!token.has_value()) {
      return InvalidArgument("no token for the single byte 0x{:02X}: some text has no encoding",
                             byte);
    }
    vocabulary.of_byte_[byte] = *token;
  }
  return vocabulary;
}

std::string_view Vocabulary::Bytes(TokenId token) const {
  const std::size_t id = Index(token);
  if (id >= ends_.size()) return {};
  const std::size_t begin = id == 0 ? 0 : ends_[id - 1];
  return {arena_.data() + begin, ends_[id] - begin};
}

std::optional<TokenId> Vocabulary::Find(std::string_view bytes) const {
  const auto it = index_.find(absl::string_view(bytes.data(), bytes.size()));
  if (it == index_.end()) return std::nullopt;
  return it->second;
}

}  // namespace stoker::text
