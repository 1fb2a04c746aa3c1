#include "cli/bench_rows.h"

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "cli/table.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace stoker::cli {
namespace {

double PerSecond(double amount, double seconds) {
  return seconds > 0.0 ? amount / seconds : 0.0;
}

nlohmann::ordered_json RunJson(const BenchRun& run) {
  nlohmann::ordered_json json = {{"rows", nlohmann::json::array()},
                                 {"load_s", run.load_seconds},
                                 {"loaded_bytes", run.loaded_bytes},
                                 {"weight_bytes", run.weight_bytes},
                                 {"peak_gb_per_s", run.peak_bytes_per_s / 1e9},
                                 {"threads", run.threads},
                                 {"isa", run.isa}};
  if (run.whole_model) {
    json["whole_model_layers"] = {{"dense", run.whole_model->dense}, {"moe", run.whole_model->moe}};
  }
  return json;
}

void AddCosts(const BenchRow& row, nlohmann::ordered_json& json) {
  json["bytes_per_step"] = row.bytes;
  json["gb_per_s"] = row.gb_per_s();
  json["share_of_peak"] = row.share_of_peak();
}

std::string RunText(const BenchRun& run) {
  return fmt::format(
      "{} threads, {}; {} of weights loaded as {} in {:.1f} s; reads at most {:.1f} GB/s\n",
      run.threads, run.isa, FormatBytes(run.weight_bytes), FormatBytes(run.loaded_bytes),
      run.load_seconds, run.peak_bytes_per_s / 1e9);
}

std::vector<std::string> Cells(const BenchRow& row) {
  return {fmt::format("{}", row.tokens),
          fmt::format("{:.2f}", row.tok_per_s()),
          fmt::format("{:.2f}", row.seconds * 1e3),
          FormatBytes(row.bytes),
          fmt::format("{:.2f}", row.gb_per_s()),
          fmt::format("{:.0f} %", row.share_of_peak() * 100.0)};
}

}  // namespace

double BenchRow::tok_per_s() const {
  return PerSecond(static_cast<double>(tokens), seconds);
}

double BenchRow::gb_per_s() const {
  return PerSecond(static_cast<double>(bytes), seconds) / 1e9;
}

double BenchRow::share_of_peak() const {
  return PerSecond(gb_per_s() * 1e9, peak_bytes_per_s);
}

std::string DecodeText(const std::vector<BenchRow>& rows, const BenchRun& run) {
  std::vector<Table::Column> columns = {{"batch"},        {"tok/s"}, {"ms/step"},
                                        {"bytes a step"}, {"GB/s"},  {"of peak"}};
  if (run.whole_model) columns.insert(columns.end(), {{"whole: tok/s"}, {"ms/step"}, {"bytes"}});
  Table table(columns);
  for (const BenchRow& row : rows) {
    std::vector<std::string> cells = Cells(row);
    if (run.whole_model) {
      const PartCost whole = row.whole_model.value_or(PartCost());
      const double tok_per_s = PerSecond(static_cast<double>(row.tokens), whole.seconds);
      cells.push_back(fmt::format("{:.2f}", tok_per_s));
      cells.push_back(fmt::format("{:.1f}", whole.seconds * 1e3));
      cells.push_back(FormatBytes(whole.bytes));
    }
    table.AddRow(std::move(cells));
  }
  std::string text = RunText(run) + table.Render();
  if (run.whole_model) {
    text += fmt::format("whole: {} dense and {} MoE layers such as these, added up\n",
                        run.whole_model->dense, run.whole_model->moe);
  }
  return text;
}

std::string PrefillText(const std::vector<BenchRow>& rows, const BenchRun& run) {
  Table table({{"tokens"}, {"tok/s"}, {"ms"}, {"bytes"}, {"GB/s"}, {"of peak"}});
  for (const BenchRow& row : rows) table.AddRow(Cells(row));
  return RunText(run) + table.Render();
}

nlohmann::ordered_json DecodeJson(const std::vector<BenchRow>& rows, std::size_t context_tokens,
                                  const BenchRun& run) {
  nlohmann::ordered_json json = RunJson(run);
  for (const BenchRow& row : rows) {
    nlohmann::ordered_json entry = {{"batch", row.tokens},
                                    {"context", context_tokens},
                                    {"tok_per_s", row.tok_per_s()},
                                    {"step_ms", row.seconds * 1e3}};
    AddCosts(row, entry);
    if (row.whole_model) {
      const PartCost& whole = *row.whole_model;
      entry["whole_model"] = {
          {"tok_per_s", PerSecond(static_cast<double>(row.tokens), whole.seconds)},
          {"step_ms", whole.seconds * 1e3},
          {"bytes_per_step", whole.bytes}};
    }
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

nlohmann::ordered_json PrefillJson(const std::vector<BenchRow>& rows, const BenchRun& run) {
  nlohmann::ordered_json json = RunJson(run);
  for (const BenchRow& row : rows) {
    nlohmann::ordered_json entry = {
        {"tokens", row.tokens}, {"seconds", row.seconds}, {"tok_per_s", row.tok_per_s()}};
    AddCosts(row, entry);
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

PartCost MedianCost(std::vector<PartCost> costs) {
  STOKER_CHECK(!costs.empty());
  std::ranges::sort(costs, {}, &PartCost::seconds);
  const std::size_t middle = costs.size() / 2;
  if (costs.size() % 2 == 1) return costs[middle];
  const PartCost& below = costs[middle - 1];
  const PartCost& above = costs[middle];
  return {.seconds = (below.seconds + above.seconds) / 2.0,
          .bytes = (below.bytes + above.bytes) / 2};
}

}  // namespace stoker::cli
