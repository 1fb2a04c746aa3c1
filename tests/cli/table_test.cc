#include "cli/table.h"

#include "gtest/gtest.h"

namespace stoker::cli {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  Table table({{"name", Table::Align::kLeft}, {"tok/s"}});
  table.AddRow({"a", "1.5"});
  table.AddRow({"longer", "123456.5"});
  EXPECT_EQ(table.Render(),
            "name       tok/s\n"
            "a            1.5\n"
            "longer  123456.5\n");
}

TEST(Table, WithoutHeadingsTheRowsStandAlone) {
  Table table({{"", Table::Align::kLeft}, {"", Table::Align::kLeft}});
  table.AddRow({"layers", "61"});
  table.AddRow({"x", ""});
  EXPECT_EQ(table.Render(), "layers  61\nx\n");
}

TEST(Table, WidthCountsCharactersAndNotBytes) {
  EXPECT_EQ(DisplayWidth("Grüße"), 5U);
  EXPECT_EQ(DisplayWidth(""), 0U);
}

}  // namespace
}  // namespace stoker::cli
