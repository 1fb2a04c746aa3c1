#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker::cli {

/// A table for people: columns as wide as their widest cell, two spaces between them.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string heading;
    Align align = Align::kRight;
  };

  /// Without any headings the rows stand alone.
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void AddRow(std::vector<std::string> cells);

  /// The lines, each ending in a newline, without trailing spaces.
  [[nodiscard]] std::string Render() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Columns that UTF-8 text takes when every character is one column wide: what tables need.
std::size_t DisplayWidth(std::string_view text);

}  // namespace stoker::cli
