#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/shard_index.h"

// A file of arbitrary bytes: it is refused, or every tensor lies inside it. The same bytes as an
// index file must not crash either.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = stoker::checkpoint::SafetensorsHeader::Parse(file);
  if (header.ok()) {
    for (const stoker::checkpoint::TensorEntry& entry : header->tensors()) {
      STOKER_CHECK(entry.offset <= size && entry.bytes <= size - entry.offset);
    }
  } else {
    STOKER_CHECK(header.status().message().find('\n') == absl::string_view::npos);
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto index = stoker::checkpoint::ParseShardIndex(text);
  if (index.ok()) {
    for (const auto& location : index->locations) {
      STOKER_CHECK(location.shard < index->shards.size());
      STOKER_CHECK(index->shards[location.shard].find('/') == std::string::npos);
    }
  }
  return 0;
}
