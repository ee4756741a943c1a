// The parts of the workload that need no file system: tree, names, order, state, settings.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "workloads/metadata/action.hpp"
#include "workloads/metadata/parameters.hpp"
#include "workloads/metadata/plan.hpp"
#include "workloads/metadata/tree.hpp"
#include "workloads/metadata/visit_order.hpp"

namespace weir::bench::metadata {
namespace {

TreeShape shape(TreeShape asked) {
  auto checked = checked_shape(asked);
  EXPECT_TRUE(checked) << (checked ? "" : checked.error().message);
  return checked ? checked.value() : asked;
}

TEST(Tree, DirectoriesAreCountedByLevels) {
  EXPECT_EQ((TreeShape{.branching = 10, .depth = 2}.directories()), 111);
  EXPECT_EQ((TreeShape{.branching = 1, .depth = 3}.directories()), 4);
  EXPECT_EQ((TreeShape{.branching = 7, .depth = 0}.directories()), 1);
  const TreeShape leaves{.branching = 3, .depth = 2, .leaf_only = true};
  EXPECT_EQ(leaves.holders(), 9);
  EXPECT_EQ(leaves.first_holder(), 4);
  EXPECT_EQ(leaves.parent(4), 1);
  EXPECT_EQ(leaves.parent(12), 3);
}

TEST(Tree, TotalIsDistributedEvenlyAndPerRankItemsAreMultiplied) {
  const TreeShape strong = shape({.ranks = 4, .total = 10});
  std::vector<std::int64_t> each;
  each.reserve(4);
  for (std::int64_t r = 0; r < 4; ++r) each.push_back(strong.items(r));
  EXPECT_EQ(each, (std::vector<std::int64_t>{3, 3, 2, 2}));
  EXPECT_EQ(shape({.ranks = 4, .items_per_rank = 10}).all_items(), 40);
  EXPECT_EQ(shape({.branching = 2, .depth = 1, .items_per_directory = 5}).items(0), 15);
}

TEST(Tree, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(checked_shape({.branching = 1000, .depth = 60, .items_per_rank = 1}));
  EXPECT_FALSE(
      checked_shape({.branching = 2, .depth = 1, .items_per_rank = 16, .items_per_directory = 5}));
  EXPECT_FALSE(checked_shape({.ranks = 1000, .items_per_rank = 1'000'000'000'000}));
}

TEST(Names, GoThereAndBackAndAreAllDifferent) {
  for (const Sharing sharing : {Sharing::shared, Sharing::per_rank}) {
    for (const std::int64_t length : {std::int64_t{0}, std::int64_t{255}}) {
      const TreeShape tree = shape({.branching = 3,
                                    .depth = 2,
                                    .leaf_only = true,
                                    .sharing = sharing,
                                    .ranks = 3,
                                    .items_per_rank = 20});
      const NameRules rules{.root = "/r", .prefix = "é_", .length = length};
      PathWriter path(rules, tree);
      std::set<std::string> all;
      for (std::int64_t rank = 0; rank < 3; ++rank) {
        for (std::int64_t item = 0; item < 20; ++item) {
          for (const bool renamed : {false, true}) {
            const std::string text = path.item(Kind::directory, rank, item, renamed, false);
            EXPECT_TRUE(all.insert(text).second);
            const std::size_t slash = text.rfind('/');
            EXPECT_TRUE(length == 0 || text.size() - slash - 1 == 255U);
            const auto named = item_named(rules, tree, std::string_view(text).substr(slash + 1));
            ASSERT_TRUE(named) << text;
            EXPECT_EQ(named->rank, rank);
            EXPECT_EQ(named->item, item);
            EXPECT_EQ(named->renamed, renamed);
            EXPECT_EQ(named->kind, Kind::directory);
          }
        }
      }
    }
  }
}

TEST(Names, NoOthersAreTakenForItems) {
  const TreeShape tree = shape({.ranks = 2, .items_per_rank = 5});
  const NameRules rules{.root = "/r"};
  for (const char* name :
       {"file.2.0", "file.0.5", "file.0", "file.0.x", "file.-1.0", "fil.0.0", "file.0.0 ", ""}) {
    EXPECT_FALSE(item_named(rules, tree, name)) << name;
  }
  EXPECT_EQ(directory_named("d.12").value(), 12);
  EXPECT_FALSE(directory_named("d.x"));
}

TEST(Names, LongestIsNeverExceeded) {
  const TreeShape tree = shape({.ranks = 12, .items_per_rank = 1000});
  const NameRules rules{.root = "/r", .prefix = "p"};
  PathWriter path(rules, tree);
  const std::string text = path.item(Kind::directory, 11, 999, true, false);
  EXPECT_EQ(static_cast<std::int64_t>(text.size() - text.rfind('/') - 1),
            longest_name(rules, tree));
}

TEST(Tree, AcrossMovesToTheNextDirectoryAndRound) {
  const TreeShape tree = shape({.branching = 2, .depth = 1, .items_per_rank = 6});
  EXPECT_EQ(tree.directory_of(0, false), 0);
  EXPECT_EQ(tree.directory_of(0, true), 1);
  EXPECT_EQ(tree.directory_of(5, false), 2);
  EXPECT_EQ(tree.directory_of(5, true), 0);
}

TEST(VisitOrder, IsAPermutationThatDependsOnItsKey) {
  for (const std::int64_t count : {1, 2, 3, 5, 16, 17, 1000}) {
    std::set<std::int64_t> seen;
    const Permutation order(count, 7);
    for (std::int64_t i = 0; i < count; ++i) seen.insert(order(i));
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), count);
    EXPECT_GE(*seen.begin(), 0);
    EXPECT_LT(*seen.rbegin(), count);
  }
  int same = 0;
  for (int i = 0; i < 1000; ++i) same += Permutation(1000, 1)(i) == Permutation(1000, 2)(i) ? 1 : 0;
  EXPECT_LT(same, 20);
}

TEST(State, WhateverIsDoneCanBePreparedAndUndone) {
  for (const ActionFacts& facts : all_actions()) {
    TreeState state;
    for (const Action before : preparation_for(facts.action, state)) state = after(before, state);
    EXPECT_TRUE(preparation_for(facts.action, state).empty()) << facts.name;
    state = after(facts.action, state);
    for (const Action last : removal_of(state)) state = after(last, state);
    EXPECT_EQ(state, TreeState{}) << facts.name;
    EXPECT_EQ(action_named(facts.name), facts.action);
  }
  EXPECT_EQ(all_actions().size(), 26U);
}

TEST(State, LinksDoNotOutliveTheirPhases) {
  TreeState state{.tree = true, .files = true, .symlinks = true};
  EXPECT_TRUE(preparation_for(Action::readlink, state).empty());
  EXPECT_EQ(preparation_for(Action::unlink, state), std::vector{Action::remove_symlinks});
}

Result<Options> options_from(std::vector<std::string> arguments, std::int64_t ranks) {
  auto resolved = resolve_settings("", "", declarations(), arguments,
                                   [](const std::string&) { return std::nullopt; });
  if (!resolved) return resolved.error();
  const Settings& settings = resolved.value().settings;
  auto options = options_of(settings);
  if (!options) return options.error();
  const auto core = core_settings_of(settings);
  const auto variants = variants_of(settings, ranks);
  if (!variants) return variants.error();
  Status fits = check_combination(options.value(), core.value(), variants.value());
  if (!fits) return fits.error();
  return options;
}

TEST(Parameters, ActionsComeInTheOrderOfPhases) {
  const auto options = options_from({"--actions", "unlink,stat,mdtest", "--kind", "files"}, 2);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options.value().actions,
            (std::vector{Action::tree_create, Action::create, Action::stat, Action::read,
                         Action::unlink, Action::tree_remove}));
  EXPECT_EQ(options.value().named, (std::vector{Action::unlink, Action::stat}));
}

TEST(Parameters, AnInterfaceMeasuresWhatItHas) {
  const auto options = options_from({"--actions", "all", "--api", "MPIIO,POSIX"}, 2);
  ASSERT_TRUE(options) << options.error().message;
  Variant by_mpi;
  by_mpi.api = interface_named("mpiio");
  by_mpi.shape = shape({.ranks = 2, .items_per_rank = 3});
  EXPECT_EQ(
      actions_on(options.value(), by_mpi),
      (std::vector{Action::tree_create, Action::create, Action::open, Action::close, Action::write,
                   Action::read, Action::truncate, Action::unlink, Action::tree_remove}));
}

TEST(Parameters, RefusesWhatCannotBe) {
  const std::vector<std::vector<std::string>> wrong{
      {"--actions", "fly"},
      {"--items", "5", "--total", "5"},
      {"--actions", "rename-across"},
      {"--actions", "rename", "--sharing", "one-file"},
      {"--kind", "directories", "--sharing", "one-file", "--actions", "mkdir"},
      {"--prefix", "a/b"},
      {"--name-length", "5"},
      {"--name-length", "256"},
      {"--keep"},
      {"--direct"},
      {"--sharing", "shared,shared"},
      {"--mix", "create=1", "--actions", "stat"},
      {"--mix", "create"},
      {"--mix-operations", "5"},
      {"--mix", "stat=1", "--sharing", "one-file"},
      {"--mix", "stat=1", "--one-creator"},
      {"--mix", "stat=1", "--api", "MPIIO"},
      {"--api", "io_uring", "--actions", "create,chmod"},
      {"--api", "io_uring", "--mix", "stat=1,chmod=1"},
      {"--api", "MPIIO", "--actions", "stat"},
      {"--mdtest-table", "rates", "--metarates-table"},
  };
  for (const auto& arguments : wrong) {
    EXPECT_FALSE(options_from(arguments, 2)) << arguments.front() << arguments.back();
  }
}

TEST(Parameters, SizesHaveTheirMeanAndNeverExceedTheirLargest) {
  for (const char* rule : {"constant", "uniform", "exponential"}) {
    const auto options = options_from({"--bytes", "1000", "--sizes", rule}, 1);
    ASSERT_TRUE(options);
    double sum = 0;
    constexpr int count = 20000;
    for (int i = 0; i < count; ++i) {
      const std::int64_t size = options.value().size_of(3, 1, i);
      EXPECT_GE(size, 0);
      EXPECT_LE(size, options.value().largest_size());
      sum += static_cast<double>(size);
    }
    EXPECT_NEAR(sum / count, 1000, 30) << rule;
  }
}

TEST(Plan, CountsOperationsOfAllRanks) {
  const TreeShape tree = shape(
      {.branching = 2, .depth = 1, .sharing = Sharing::per_rank, .ranks = 2, .items_per_rank = 9});
  EXPECT_EQ(operations_of(Action::tree_create, tree, {}), 6);
  EXPECT_EQ(operations_of(Action::stat, tree, {}), 18);
  EXPECT_EQ(operations_of(Action::readdir, tree, {}), 22);
  EXPECT_EQ(operations_of(Action::readdir, tree, {.directories = true}), 40);
}

}  // namespace
}  // namespace weir::bench::metadata
