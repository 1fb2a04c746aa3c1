#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace stoker::cli {
namespace {

template <typename Integer>
absl::Status ParseInteger(const std::string& text, Integer& value) {
  Integer parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error == std::errc::result_out_of_range) return InvalidArgument("{} is too large", text);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return InvalidArgument("\"{}\" is not a whole number{}", text,
                           std::is_unsigned_v<Integer> ? " of 0 or more" : "");
  }
  value = parsed;
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseValue(const std::string& text, std::string& value) {
  value = text;
  return absl::OkStatus();
}

absl::Status ParseValue(const std::string& text, int& value) {
  return ParseInteger(text, value);
}

absl::Status ParseValue(const std::string& text, std::int64_t& value) {
  return ParseInteger(text, value);
}

absl::Status ParseValue(const std::string& text, std::uint64_t& value) {
  return ParseInteger(text, value);
}

absl::Status ParseValue(const std::string& text, double& value) {
  double parsed = 0.0;
  if (!absl::SimpleAtod(text, &parsed) || !std::isfinite(parsed)) {
    return InvalidArgument("\"{}\" is not a number", text);
  }
  value = parsed;
  return absl::OkStatus();
}

absl::Status ParseValue(const std::string& text, std::vector<std::size_t>& values) {
  values.clear();
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    std::uint64_t value = 0;
    if (!ParseInteger(std::string(item), value).ok() || value == 0) {
      return InvalidArgument("\"{}\" is not a list of whole numbers above 0, such as 1,2,4", text);
    }
    values.push_back(value);
  }
  return absl::OkStatus();
}

void Options::Positional(const std::string& name, std::string& target, const std::string& help) {
  app_->add_option(name, target, help)->required()->option_text(" ");
}

void Options::Flag(const std::string& names, bool& target, const std::string& help) {
  app_->add_flag(names, target, help)->group(heading_);
}

void Options::Toggle(const std::string& names, std::optional<bool>& target,
                     const std::string& help) {
  app_->add_flag_function(
          names, [&target](std::int64_t count) { target = count > 0; }, help)
      ->group(heading_);
}

void Options::Repeated(const std::string& names, const std::string& placeholder,
                       std::vector<std::string>& target, const std::string& help) {
  const auto append = [&target](const CLI::results_t& values) {
    target.insert(target.end(), values.begin(), values.end());
    return true;
  };
  app_->add_option(names, append, help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->option_text(placeholder)
      ->group(heading_);
}

void Options::Parsed(const std::string& names, const std::string& placeholder,
                     const std::string& help,
                     std::function<absl::Status(const std::string&)> parse) {
  CLI::Option* option = app_->add_option(
      names,
      [parse = std::move(parse), names](const CLI::results_t& values) {
        const absl::Status status = parse(values.back());
        if (status.ok()) return true;
        const std::string longest = names.substr(names.rfind(',') + 1);
        throw CLI::ValidationError(longest, std::string(Message(status)));
      },
      help);
  option->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->option_text(placeholder)
      ->group(heading_);
}

}  // namespace stoker::cli
