#include "cli/table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace stoker::cli {

std::size_t DisplayWidth(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void Table::AddRow(std::vector<std::string> cells) {
  STOKER_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::Render() const {
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t width = DisplayWidth(headings[column]);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[column]));
    widths.push_back(width);
  }
  std::string text;
  const auto append = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string padding(widths[column] - DisplayWidth(cells[column]), ' ');
      const bool right = columns_[column].align == Align::kRight;
      line += column > 0 ? "  " : "";
      line += right ? padding + cells[column] : cells[column] + padding;
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  const bool headed =
      std::ranges::any_of(headings, [](const std::string& text_of) { return !text_of.empty(); });
  if (headed) append(headings);
  for (const auto& row : rows_) append(row);
  return text;
}

}  // namespace stoker::cli
