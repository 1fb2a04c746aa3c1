#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}  // namespace CLI

namespace stoker::cli {

/// Reads an option's value. Errors: kInvalidArgument saying what is accepted.
absl::Status ParseValue(const std::string& text, std::string& value);
absl::Status ParseValue(const std::string& text, int& value);
absl::Status ParseValue(const std::string& text, std::int64_t& value);
absl::Status ParseValue(const std::string& text, std::uint64_t& value);
absl::Status ParseValue(const std::string& text, double& value);
/// Whole numbers above 0, parted by commas.
absl::Status ParseValue(const std::string& text, std::vector<std::size_t>& values);

template <typename T>
absl::Status ParseValue(const std::string& text, std::optional<T>& value) {
  return ParseValue(text, value.emplace());
}

/// The options of one command: declares them to the parser and to --help. Targets must outlive the
/// parser; what is not given on the command line keeps its value.
///
/// `names` is the parser's notation, "-p,--prompt"; a positional argument has a bare name, "MODEL".
class Options {
 public:
  explicit Options(CLI::App& app) : app_(&app) {}

  /// The options that follow are listed in --help under this heading.
  void Heading(std::string heading) { heading_ = std::move(heading); }

  /// A positional argument that must be given.
  void Positional(const std::string& name, std::string& target, const std::string& help);

  void Flag(const std::string& names, bool& target, const std::string& help);

  /// A pair "--x,!--no-x".
  void Toggle(const std::string& names, std::optional<bool>& target, const std::string& help);

  /// An option with a value that `placeholder` stands for in --help.
  template <typename T>
  void Value(const std::string& names, const std::string& placeholder, T& target,
             const std::string& help) {
    Parsed(names, placeholder, help,
           [&target](const std::string& text) { return ParseValue(text, target); });
  }

  /// An option that may be given several times; its values are kept in order.
  void Repeated(const std::string& names, const std::string& placeholder,
                std::vector<std::string>& target, const std::string& help);

  /// An option whose value is handed to `parse`.
  void Parsed(const std::string& names, const std::string& placeholder, const std::string& help,
              std::function<absl::Status(const std::string&)> parse);

 private:
  CLI::App* app_;
  std::string heading_ = "options";
};

}  // namespace stoker::cli
