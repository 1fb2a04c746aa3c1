#include "checkpoint/strict_sax.h"

#include <utility>

#include "base/status.h"

namespace stoker::checkpoint {

absl::Status StrictSax::Run(std::string_view text, std::string_view what) {
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), this);
  if (!status_.ok()) {
    return At(what, status_);
  }
  return parsed ? absl::OkStatus() : InvalidArgument("{} is not valid JSON", what);
}

bool StrictSax::parse_error(std::size_t position, const std::string& /*last_token*/,
                            const nlohmann::json::exception& /*error*/) {
  return Fail(InvalidArgument("not valid JSON at byte {}", position));
}

bool StrictSax::Fail(absl::Status error) {
  if (status_.ok()) status_ = std::move(error);
  return false;
}

}  // namespace stoker::checkpoint
