#include "kernels/panel_tasks.h"

#include <gtest/gtest.h>

#include <map>

namespace stoker::kernels {
namespace {

using Cut = PanelTasks::Cut;
using Unit = std::pair<std::size_t, std::size_t>;  // job, unit

PanelTasks Assigned(const std::vector<int>& workers, const std::vector<Cut>& cuts) {
  PanelTasks tasks;
  tasks.Assign(workers, cuts.size(), [&](std::size_t job) { return cuts[job]; });
  return tasks;
}

// The node of every unit; fails where a unit is missing or comes twice.
std::map<Unit, std::size_t> NodeOfUnits(const PanelTasks& tasks, const std::vector<Cut>& cuts) {
  std::map<Unit, std::size_t> node_of;
  for (std::size_t node = 0; node < tasks.shares().size(); ++node) {
    const sys::TaskRange share = tasks.shares()[node];
    for (std::size_t task = share.begin; task < share.end; ++task) {
      const PanelTasks::Piece& piece = tasks[task];
      EXPECT_LE(piece.count, cuts[piece.job].step);
      for (std::size_t unit = piece.first; unit < piece.first + piece.count; ++unit) {
        EXPECT_TRUE(node_of.emplace(Unit(piece.job, unit), node).second) << "unit " << unit;
      }
    }
  }
  std::size_t units = 0;
  for (const Cut& cut : cuts) units += cut.units;
  EXPECT_EQ(node_of.size(), units);
  return node_of;
}

const std::vector<std::vector<int>> kMachines = {{1}, {2, 2}, {3, 1}, {0, 2}, {1, 1, 1, 5}};

TEST(PanelTasks, EveryUnitOfEveryJobComesOnce) {
  const std::vector<Cut> cuts = {{1, 4}, {88, 4}, {0, 1}, {7, 3}, {129, 32}};
  for (const std::vector<int>& workers : kMachines) {
    NodeOfUnits(Assigned(workers, cuts), cuts);
  }
}

TEST(PanelTasks, PanelsNodeDependsNeitherOnItsCompanyNorOnTheStep) {
  const std::vector<Cut> alone = {{88, 4}};
  const std::vector<Cut> company = {{13, 2}, {88, 30}, {400, 32}};
  for (const std::vector<int>& workers : kMachines) {
    const auto first = NodeOfUnits(Assigned(workers, alone), alone);
    const auto second = NodeOfUnits(Assigned(workers, company), company);
    for (std::size_t unit = 0; unit < 88; ++unit) {
      EXPECT_EQ(first.at(Unit(0, unit)), second.at(Unit(1, unit))) << "unit " << unit;
    }
  }
}

TEST(PanelTasks, NodesShareEachJobInProportionToTheirWorkers) {
  const std::vector<Cut> cuts = {{40, 4}, {80, 4}};
  std::map<std::pair<std::size_t, std::size_t>, int> units;  // job, node
  for (const auto& [unit, node] : NodeOfUnits(Assigned({3, 1}, cuts), cuts)) {
    ++units[{unit.first, node}];
  }
  EXPECT_EQ((units[{0, 0}]), 30);
  EXPECT_EQ((units[{0, 1}]), 10);
  EXPECT_EQ((units[{1, 0}]), 60);
  EXPECT_EQ((units[{1, 1}]), 20);
}

TEST(PanelTasks, AssignForgetsTheJobsBefore) {
  PanelTasks tasks = Assigned({1, 1}, {{40, 4}});
  tasks.Assign({1}, 0, [](std::size_t) { return Cut{}; });
  EXPECT_EQ(tasks.size(), 0U);
  ASSERT_EQ(tasks.shares().size(), 1U);
  EXPECT_EQ(tasks.shares()[0].size(), 0U);
}

}  // namespace
}  // namespace stoker::kernels
