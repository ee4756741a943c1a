#include "measurement/quiet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace weir::bench {
namespace {

using testing::HasSubstr;

constexpr std::int64_t ticks_per_second = 100;

nlohmann::json judge(const std::vector<NodeActivity>& nodes) {
  return judge_quiet(nodes, 0.5, 2.0, ticks_per_second);
}

TEST(ProcessorTicks, AddsUpTheFirstLineOfStat) {
  const auto ticks =
      parse_processor_ticks("cpu  100 20 30 400 5 6 7 8 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 9\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->busy, 100 + 20 + 30 + 6 + 7);
  EXPECT_EQ(ticks->idle, 405);
  EXPECT_EQ(ticks->stolen, 8);
}

TEST(ProcessorTicks, ReadsOldKernelsAndRefusesOtherText) {
  EXPECT_EQ(parse_processor_ticks("cpu 1 2 3 4\n")->busy, 6);
  EXPECT_FALSE(parse_processor_ticks("cpu 1 2\n"));
  EXPECT_FALSE(parse_processor_ticks(""));
}

TEST(KernelThreadTicks, CountsChildrenOfKthreaddOnly) {
  EXPECT_EQ(kernel_thread_ticks("17 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 11 22 0 0"), 33);
  EXPECT_EQ(kernel_thread_ticks("18 (a) 2 (b) S 2 0 0 0 -1 69238880 0 0 0 0 1 2 0 0"), 3);
  EXPECT_EQ(kernel_thread_ticks("99 (bash) S 42 0 0 0 -1 69238880 0 0 0 0 11 22 0 0"), 0);
  EXPECT_EQ(kernel_thread_ticks("99 (cut short) S"), 0);
}

TEST(JudgeQuiet, OwnRanksAndKernelThreadsAreNotOthers) {
  // 10 s on 2 processors: 1500 ticks busy, of which 1200 the ranks and 280 write-back.
  const auto verdict = judge({{.host = "n0",
                               .ticks = ProcessorTicks{1500, 500, 0},
                               .kernel_thread_ticks = 280,
                               .own_seconds = 12}});
  EXPECT_TRUE(verdict["quiet"]);
  EXPECT_NEAR(verdict["other_processes_busy_fraction"], 20.0 / 2000, 1e-12);
  EXPECT_EQ(verdict["load_before"], 0.5);
  EXPECT_EQ(verdict["load_after"], 2.0);
}

TEST(JudgeQuiet, OtherProcessesMakeItUnquiet) {
  const auto verdict = judge({{.host = "n0",
                               .ticks = ProcessorTicks{1500, 500, 0},
                               .kernel_thread_ticks = 0,
                               .own_seconds = 5}});
  EXPECT_FALSE(verdict["quiet"]);
  EXPECT_NEAR(verdict["other_processes_busy_fraction"], 0.5, 1e-12);
  EXPECT_THAT(verdict["text"], HasSubstr("50.0 %"));
}

TEST(JudgeQuiet, AHypervisorThatTakesTheProcessorMakesItUnquiet) {
  const auto verdict = judge({{.host = "n0",
                               .ticks = ProcessorTicks{1000, 500, 500},
                               .kernel_thread_ticks = 0,
                               .own_seconds = 10}});
  EXPECT_FALSE(verdict["quiet"]);
  EXPECT_EQ(verdict["other_processes_busy_fraction"], 0.0);
  EXPECT_THAT(verdict["text"], HasSubstr("the hypervisor took 25.0 %"));
}

TEST(JudgeQuiet, NamesTheBusiestNode) {
  const auto verdict = judge({{.host = "calm", .ticks = ProcessorTicks{0, 1000, 0}},
                              {.host = "busy", .ticks = ProcessorTicks{400, 600, 0}},
                              {.host = "dark", .ticks = std::nullopt}});
  EXPECT_NEAR(verdict["other_processes_busy_fraction"], 0.4, 1e-12);
  EXPECT_THAT(verdict["text"], HasSubstr("of busy"));
}

TEST(JudgeQuiet, TooShortARunIsNotCalledQuiet) {
  const auto verdict = judge({{.host = "n0", .ticks = ProcessorTicks{3, 4, 0}}});
  EXPECT_TRUE(verdict["other_processes_busy_fraction"].is_null());
  EXPECT_FALSE(verdict["quiet"]);
  EXPECT_THAT(verdict["text"], HasSubstr("unknown"));
}

TEST(JudgeQuiet, CountersThatRunBackwardsGiveAShareBetweenNoneAndAll) {
  const auto verdict = judge({{.host = "n0",
                               .ticks = ProcessorTicks{100, 900, 0},
                               .kernel_thread_ticks = -50,
                               .own_seconds = 100}});
  EXPECT_EQ(verdict["other_processes_busy_fraction"], 0.0);
}

}  // namespace
}  // namespace weir::bench
