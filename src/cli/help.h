#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace stoker::cli {

/// "stoker bench decode".
std::string FullName(const CLI::App& app);

/// Writes --help: what it does, usage, examples, then options in two columns that fit the terminal.
class HelpFormatter : public CLI::FormatterBase {
 public:
  explicit HelpFormatter(std::size_t width) : width_(width) {}

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  [[nodiscard]] std::string Entry(const std::string& left, const std::string& right) const;

  std::size_t width_;
};

}  // namespace stoker::cli
