#include "base/log.h"

#include <string>
#include <vector>

#include "base/status.h"
#include "base/suggest.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace stoker {

absl::Status SetUpLogging(std::string_view level) {
  static const std::vector<std::string> kLevels = {"trace", "debug", "info",
                                                   "warn",  "error", "off"};
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return InvalidArgument("unknown log level \"{}\"; use trace, debug, info, warn, error or off{}",
                           level, DidYouMean(level, kLevels));
  }
  auto logger = spdlog::get("stoker");
  if (logger == nullptr) logger = spdlog::stderr_color_mt("stoker");
  logger->set_pattern("%^%l%$: %v");
  spdlog::set_default_logger(logger);
  spdlog::set_level(parsed);
  return absl::OkStatus();
}

}  // namespace stoker
