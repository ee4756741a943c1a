#include "workloads/madbench/plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::bench::madbench {
namespace {

Size size_with_gangs(std::int64_t gangs) {
  return {.no_pe = 4,
          .no_pix = 1000,
          .no_bin = 8,
          .no_gang = gangs,
          .sblocksize = 50,
          .fblocksize = 4096,
          .rmod = 1,
          .wmod = 1};
}

TEST(Plan, CountsBytesAndOperationsOfEachPhase) {
  const auto plan = plan_json(size_with_gangs(1), {}, 0).value();
  ASSERT_EQ(plan["phases"].size(), 4U);
  for (const auto& phase : plan["phases"]) {
    EXPECT_EQ(phase["operations_per_rank"], 8);
    EXPECT_EQ(phase["bytes_per_operation"], 2'000'000);
    EXPECT_EQ(phase["bytes_total"], 64'000'000);
    EXPECT_EQ(phase["exposed_operations_per_rank"], 1);
  }
  EXPECT_EQ(plan["phases"][0]["computations_per_operation"], 250'000.0);      // S: exponent 2
  EXPECT_EQ(plan["phases"][2]["computations_per_operation"], 250'000'000.0);  // W: exponent 3
  EXPECT_EQ(plan["memory_bytes_per_rank"], 5 * 2'000'000);
  EXPECT_EQ(plan["files"], 4);
}

TEST(Plan, SaysNothingOfTheTimeOfMessagesAndCountsTheirBuffers) {
  const auto plan = plan_json(size_with_gangs(1), {}, 0, Calculation::messages).value();
  for (const auto& phase : plan["phases"]) {
    EXPECT_TRUE(phase["computations_per_operation"].is_null());
  }
  EXPECT_EQ(plan["memory_bytes_per_rank"], 5 * 2'000'000 + 2 * 1'048'576);
}

TEST(Plan, FilesAreInTheDirectoriesByTurns) {
  Size size = size_with_gangs(1);
  size.no_pe = 9;  // with blocks of 400 rows, ranks have unequal shares
  size.sblocksize = 400;
  const auto plan = plan_json(size, {}, 0, Calculation::busy_work, {"/a", "/b"}).value();
  ASSERT_EQ(plan["targets"].size(), 2U);
  EXPECT_EQ(plan["targets"][0]["directory"], "/a");
  EXPECT_EQ(plan["targets"][0]["ranks"], (std::vector<int>{0, 2, 4, 6, 8}));
  EXPECT_EQ(plan["targets"][1]["ranks"], (std::vector<int>{1, 3, 5, 7}));
  EXPECT_EQ(plan["targets"][1]["files"], 4);
  std::int64_t all = 0;
  std::int64_t of_phases = 0;
  for (const auto& one : plan["targets"]) all += one["bytes_total"].get<std::int64_t>();
  for (const auto& one : plan["phases"]) of_phases += one["bytes_total"].get<std::int64_t>();
  EXPECT_EQ(all, of_phases);
  EXPECT_TRUE(plan_json(size, {}, 0).value()["targets"].empty());
}

TEST(Plan, GangsMoveAsManyBytesInFewerOperations) {
  const auto plan = plan_json(size_with_gangs(4), {}, 0).value();
  EXPECT_EQ(plan["phases"][1]["operations_per_rank"], 8);  // W reads over all ranks
  EXPECT_EQ(plan["phases"][2]["operations_per_rank"], 2);  // W writes over a gang
  EXPECT_EQ(plan["phases"][2]["bytes_per_operation"], 8'000'000);
  for (const auto& phase : plan["phases"]) EXPECT_EQ(phase["bytes_total"], 64'000'000);
}

TEST(Plan, WithoutTransfersNothingIsMoved) {
  const auto plan = plan_json(size_with_gangs(1), {.mode = Mode::none}, 0).value();
  EXPECT_TRUE(plan["phases"].empty());
  EXPECT_EQ(plan["disk_bytes_total"], 0);
  EXPECT_EQ(plan["files"], 0);
}

TEST(Plan, FullModeReadsEveryPairOfResults) {
  const auto plan = plan_json(size_with_gangs(1), {}, 0, Calculation::full).value();
  EXPECT_EQ(plan["phases"][3]["operations_per_rank"], 36);  // 8 · 9 / 2
  EXPECT_EQ(plan["phases"][3]["bytes_total"], 36 * 8'000'000);
  EXPECT_EQ(plan["phases"][1]["bytes_total"], 64'000'000);
  EXPECT_EQ(plan["memory_bytes_per_rank"], 5 * 2'000'000);
  const auto gangs = plan_json(size_with_gangs(4), {}, 0, Calculation::full).value();
  EXPECT_EQ(gangs["phases"][3]["operations_per_rank"], 3);
}

}  // namespace
}  // namespace weir::bench::madbench
