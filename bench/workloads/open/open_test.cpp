// The parts of the workload open that need no ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workloads/open/counted_steps.hpp"
#include "workloads/open/parameters.hpp"
#include "workloads/open/plan.hpp"

namespace weir::bench::opening {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<CountedStep> counted(const std::vector<std::pair<std::int64_t, std::int64_t>>& points) {
  std::vector<CountedStep> steps;
  for (const auto& [ranks, operations] : points) {
    CountedStep step;
    step.ranks = ranks;
    step.operations = operations;
    steps.push_back(step);
  }
  return steps;
}

Result<std::vector<Variant>> variants(const std::vector<std::string>& arguments) {
  const auto resolved = resolve_settings("test", "", declarations(), arguments,
                                         [](const std::string&) { return std::nullopt; });
  if (!resolved) return resolved.error();
  const auto options = options_of(resolved.value().settings);
  if (!options) return options.error();
  return variants_of(resolved.value().settings, options.value());
}

Result<Options> options(const std::vector<std::string>& arguments) {
  const auto resolved = resolve_settings("test", "", declarations(), arguments,
                                         [](const std::string&) { return std::nullopt; });
  if (!resolved) return resolved.error();
  return options_of(resolved.value().settings);
}

TEST(OpenLine, LeavesOneRankOut) {
  const Line line = fit_line(counted({{1, 1}, {2, 7}, {4, 11}, {8, 19}}));
  EXPECT_THAT(line.fixed, DoubleNear(3, 1e-9));
  EXPECT_THAT(line.per_rank, DoubleNear(2, 1e-9));
  EXPECT_THAT(line.largest_deviation, DoubleNear(0, 1e-9));
  EXPECT_THAT(line.at(1000), DoubleNear(2003, 1e-6));
}

TEST(OpenLine, ThroughNoughtHasNoConstantOfRounding) {
  const Line line = fit_line(counted({{1, 9}, {2, 18}, {4, 36}, {8, 72}, {16, 144}, {32, 288}}));
  EXPECT_EQ(line.fixed, 0);
  EXPECT_EQ(line.per_rank, 9);
}

TEST(OpenLine, IsWordedInWholeNumbersWhereItHasThem) {
  const auto worded = [](double fixed, double per_rank) {
    return growth({.fixed = fixed, .per_rank = per_rank, .largest_deviation = 0});
  };
  EXPECT_EQ(worded(0, 9), "9 n");
  EXPECT_EQ(worded(7, 0), "7");
  EXPECT_EQ(worded(2, 10000), "2 + 10000 n");
  EXPECT_EQ(worded(-3, 1.5), "1.50 n - 3");
}

TEST(OpenLine, NeedsTwoCountsOfSeveralRanks) {
  EXPECT_FALSE(has_slope(counted({{1, 1}})));
  EXPECT_FALSE(has_slope(counted({{1, 1}, {2, 2}})));
  EXPECT_TRUE(has_slope(counted({{1, 1}, {2, 2}, {4, 4}})));
}

TEST(OpenLine, TellsHowFarItIsOff) {
  const Line line = fit_line(counted({{2, 4}, {4, 4}, {6, 10}}));
  EXPECT_THAT(line.per_rank, DoubleNear(1.5, 1e-9));
  EXPECT_THAT(line.largest_deviation, DoubleNear(2, 1e-9));
}

TEST(OpenLine, OfOnePointIsLevel) {
  const Line line = fit_line(counted({{1, 5}}));
  EXPECT_EQ(line.per_rank, 0);
  EXPECT_EQ(line.at(1e6), 5);
}

TEST(OpenLine, GoesOn) {
  const Line line = fit_line(counted({{2, 4}, {4, 8}, {8, 16}}));
  EXPECT_THAT(operations_on(line, 1'000'000), DoubleNear(2e6, 1e-3));
  EXPECT_EQ(operations_on(Line{.fixed = 5, .per_rank = -1, .largest_deviation = 0}, 100), 0);
}

TEST(OpenNodes, AskForAsMuchAsTheSecondDid) {
  const auto points = counted({{8, 13}, {16, 15}});
  const NodeCounts counts{.one = points[0], .two = points[1]};
  EXPECT_EQ(operations_on(counts, 8), 13);
  EXPECT_EQ(operations_on(counts, 9), 15);
  EXPECT_EQ(operations_on(counts, 8000), 13 + 999 * 2);
}

TEST(OpenLine, IsCountedOnPowersOfTwoAndAllRanks) {
  EXPECT_THAT(counted_ranks(1), ElementsAre(1));
  EXPECT_THAT(counted_ranks(6), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(counted_ranks(8), ElementsAre(1, 2, 4, 8));
}

TEST(OpenParameters, ListsMakeConfigurations) {
  const auto made = variants({"--api=POSIX,MPIIO", "--mpi-io=romio", "--one-file-per-rank"});
  ASSERT_TRUE(made.ok());
  std::vector<std::string> labels;
  for (const Variant& one : made.value()) labels.push_back(one.label);
  EXPECT_THAT(labels, ElementsAre("POSIX per-rank", "POSIX subfiled", "POSIX shared",
                                  "MPIIO (romio) per-rank", "MPIIO (romio) subfiled",
                                  "MPIIO (romio) shared"));
}

TEST(OpenParameters, RefusesWhatCannotBe) {
  EXPECT_THAT(variants({"--api=POSIX,POSIX"}).error().message, HasSubstr("twice"));
  EXPECT_THAT(variants({"--one-file-per-rank", "--layout=shared"}).error().message,
              HasSubstr("give one of them"));
  EXPECT_THAT(options({"--bytes=12"}).error().message, HasSubstr("multiple of 8"));
  EXPECT_THAT(options({"--bytes=0"}).error().message, HasSubstr("multiple of 8"));
  EXPECT_THAT(options({"--ranks-per-file=0"}).error().message, HasSubstr("--ranks-per-file"));
  EXPECT_THAT(options({"--io-groups=0,1"}).error().message, HasSubstr("--io-groups 0,1: counting"));
  EXPECT_TRUE(options({"--io-groups=0,1", "--no-count"}).ok());
  EXPECT_TRUE(options({"--io-groups=2"}).ok());
}

TEST(OpenPlan, CountsFiles) {
  Options settings;
  settings.ranks_per_file = 4;
  EXPECT_EQ(files_of({.api = interface_named("posix"), .layout = Layout::shared}, settings, 10), 1);
  EXPECT_EQ(files_of({.api = interface_named("posix"), .layout = Layout::per_rank}, settings, 10),
            10);
  EXPECT_EQ(files_of({.api = interface_named("posix"), .layout = Layout::subfiled}, settings, 10),
            3);
  EXPECT_EQ(files_of({.api = interface_named("weir"), .layout = Layout::per_rank}, settings, 10),
            10);
}

}  // namespace
}  // namespace weir::bench::opening
