#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

// What parses prints as text that parses to the same value; what does not gives a message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parsed = stoker::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) {
    STOKER_CHECK(!stoker::Message(parsed.status()).empty());
    return 0;
  }
  const auto again = stoker::ParseJson(parsed->dump());
  STOKER_CHECK(again.ok() && *again == *parsed);
  return 0;
}
