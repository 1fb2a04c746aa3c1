#include "base/log.h"

#include <memory>
#include <string>
#include <vector>

#include "base/printable.h"
#include "base/status.h"
#include "base/suggest.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace stoker {
namespace {

// A message as one line: it may name a file or a tensor whose name nobody vouches for.
class OneLineMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string line = OneLine({message.payload.data(), message.payload.size()});
    out.append(line.data(), line.data() + line.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<OneLineMessage>();
  }
};

std::unique_ptr<spdlog::formatter> LineFormatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<OneLineMessage>('*').set_pattern("%^%l%$: %*");
  return formatter;
}

}  // namespace

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
  logger->set_formatter(LineFormatter());
  spdlog::set_default_logger(logger);
  spdlog::set_level(parsed);
  return absl::OkStatus();
}

}  // namespace stoker
