#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "checkpoint/model_config.h"
#include "checkpoint/model_stats.h"

// Arbitrary text as config.json: it is refused in one line, or it is a model whose sizes add up
// without overflow and whose own config.json reads back the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = stoker::checkpoint::ParseModelConfig(text);
  if (!config.ok()) {
    STOKER_CHECK(config.status().message().find('\n') == absl::string_view::npos);
    return 0;
  }
  const auto stats = stoker::checkpoint::ComputeModelStats(*config);
  STOKER_CHECK(stats.total.parameters >= config->vocab * config->hidden);
  STOKER_CHECK(stats.total.active_parameters <= 2 * stats.total.parameters);
  const auto again =
      stoker::checkpoint::ParseModelConfig(stoker::checkpoint::FormatModelConfig(*config));
  STOKER_CHECK(again.ok() && *again == *config);
  return 0;
}
