// Every action on every shape of tree, shared or not, through all interfaces: the run checks itself
// after every phase. Here, what it leaves is counted as `find` would. What must fail is made to in
// metadata_failure_test.cpp.
#include "metadata.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measurement/aggregate.hpp"

namespace weir::bench::metadata {
namespace {

struct TreeCase {
  const char* name;
  Sharing sharing;
  const char* api;
  std::int64_t depth;
  bool leaf_only;
  bool random;
  bool one_creator;
  std::int64_t total;

  friend void PrintTo(const TreeCase& one, std::ostream* out) { *out << one.name; }
};

class Trees : public Metadata, public ::testing::WithParamInterface<TreeCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, Trees,
    ::testing::Values(
        TreeCase{"Shared", Sharing::shared, "POSIX", 0, false, true, false, 0},
        TreeCase{"SharedByOneCreator", Sharing::shared, "AT", 2, false, false, true, 0},
        TreeCase{"SharedLeaves", Sharing::shared, "POSIX", 1, true, true, false, 9},
        TreeCase{"PerRank", Sharing::per_rank, "AT", 0, false, true, false, 9},
        TreeCase{"LeavesPerRank", Sharing::per_rank, "POSIX", 2, true, false, true, 0},
        TreeCase{"OneFile", Sharing::one_file, "POSIX", 0, false, false, false, 0},
        TreeCase{"OneFileByOneCreator", Sharing::one_file, "AT", 1, false, true, true, 0},
        TreeCase{"SharedByRing", Sharing::shared, "IO_URING", 1, false, true, false, 9},
        TreeCase{"PerRankByRing", Sharing::per_rank, "IO_URING", 0, false, false, true, 0},
        TreeCase{"SharedByMpi", Sharing::shared, "MPIIO", 1, false, true, false, 9},
        TreeCase{"OneFileByMpi", Sharing::one_file, "MPIIO", 0, false, false, false, 0}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(Trees, EveryActionIsDoneAndLeavesNothing) {
  const TreeCase& one = GetParam();
  if (is_missing(one.api)) GTEST_SKIP() << "there is no io_uring here";
  options_.queue_depth = 3;
  options_.random_order = one.random;
  options_.one_creator = one.one_creator;
  if (one.leaf_only) options_.size_rule = SizeRule::exponential;
  expect_right(variant({.branching = 2,
                        .depth = one.depth,
                        .leaf_only = one.leaf_only,
                        .sharing = one.sharing,
                        .total = one.total},
                       one.api),
               options_);
}

class Interfaces : public Metadata, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, Interfaces, ::testing::Values("POSIX", "IO_URING", "MPIIO"),
                         [](const auto& tested) { return short_name(tested.param); });

TEST_P(Interfaces, FilesOfSeveralPiecesAreMadeDurableAndReadAgain) {
  if (is_missing(GetParam())) GTEST_SKIP() << "there is no io_uring here";
  core_.durability = storage::Durability::data;
  options_.actions = {Action::create, Action::write, Action::read};
  options_.bytes = FileContent::most_at_once + 3;
  options_.queue_depth = 2;
  expect_right(variant({.total = 3}, GetParam()), options_);
}

std::string name_of_action(const ::testing::TestParamInfo<Action>& tested) {
  return short_name(std::string(facts_of(tested.param).name));
}

std::vector<Action> every_action() {
  std::vector<Action> all;
  for (const ActionFacts& facts : all_actions()) all.push_back(facts.action);
  return all;
}

class OneAction : public Metadata, public ::testing::WithParamInterface<Action> {};

INSTANTIATE_TEST_SUITE_P(All, OneAction, ::testing::ValuesIn(every_action()), name_of_action);

TEST_P(OneAction, MakesWhatItNeedsAndTakesItAway) {
  if (job().size != 2) GTEST_SKIP() << "two ranks show it";
  options_.actions = {GetParam()};
  expect_right(variant({.branching = 2, .depth = 1}), options_);
}

class ShiftedAction : public Metadata, public ::testing::WithParamInterface<Action> {};

INSTANTIATE_TEST_SUITE_P(All, ShiftedAction,
                         ::testing::Values(Action::directory_stat, Action::stat, Action::open,
                                           Action::getxattr, Action::readlink),
                         name_of_action);

// The first rank has one item more, so that counts tell whose items were visited.
TEST_P(ShiftedAction, VisitsWhatTheNextRankHasMadeAlsoWhenTheMakingIsNotMeasured) {
  const Variant one_more = variant({.total = job().size + 1});
  options_.actions = {GetParam()};
  const auto record = run(one_more, options_);
  ASSERT_TRUE(is_ok_on_all_ranks(record));
  EXPECT_EQ(record.value().phases.front().operations, one_more.shape.items(next_rank()));
}

struct MixCase {
  const char* name;
  Sharing sharing;
  const char* api;
  bool random;
  const char* mix;

  friend void PrintTo(const MixCase& one, std::ostream* out) { *out << one.name; }
};

class Mixes : public Metadata, public ::testing::WithParamInterface<MixCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, Mixes,
    ::testing::Values(
        MixCase{"OfFiles", Sharing::shared, "POSIX", true, "create=30,stat=50,unlink=20"},
        MixCase{"OfFilesAndDirectories", Sharing::per_rank, "AT", false,
                "mkdir=2,directory-stat=1,rmdir=1,create=2,lstat=1,utime=1,chmod=1,write=1,read=1,"
                "unlink=1"},
        MixCase{"OfRemovalAlone", Sharing::shared, "AT", false, "unlink=1"},
        MixCase{"ByRing", Sharing::shared, "IO_URING", true,
                "mkdir=2,directory-stat=1,rmdir=1,create=3,stat=1,lstat=1,write=2,read=2,unlink=2"},
        MixCase{"ByMpi", Sharing::per_rank, "MPIIO", false, "create=2,write=1,read=1,unlink=1"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(Mixes, AddUpAndLeaveNothing) {
  const MixCase& one = GetParam();
  if (is_missing(one.api)) GTEST_SKIP() << "there is no io_uring here";
  options_.queue_depth = 4;
  options_.actions.clear();
  options_.random_order = one.random;
  options_.size_rule = SizeRule::uniform;
  auto mix = mix_of(one.mix);
  ASSERT_TRUE(is_ok(mix));
  options_.mix = std::move(mix).value();
  options_.mix_operations = 60;
  const Variant mixed = variant(
      {.branching = 2, .depth = 1, .sharing = one.sharing, .total = 5 * job().size + 1}, one.api);
  const auto record = run(mixed, options_);
  EXPECT_TRUE(fs::is_empty(folder())) << "something is left";
  ASSERT_TRUE(is_ok_on_all_ranks(record));
  const std::vector<ActionRecord>& phases = record.value().phases;
  ASSERT_EQ(phases.size(), 1 + options_.mix.size());
  EXPECT_EQ(phases[0].measured.name(), "mix");
  EXPECT_EQ(phases[1].measured.name(),
            fmt::format("mix/{}", facts_of(options_.mix[0].action).name));
  std::int64_t parts = 0;
  for (std::size_t i = 1; i < phases.size(); ++i) parts += phases[i].operations;
  EXPECT_EQ(parts, phases[0].operations);
  // What only removes ends when the next rank's items are gone.
  EXPECT_EQ(parts,
            options_.mix.size() == 1 ? mixed.shape.items(next_rank()) : options_.mix_operations);
  EXPECT_EQ(phases[0].latencies.count(), static_cast<std::uint64_t>(parts));
}

TEST_F(Metadata, NamesMayHave255BytesOfAnyKind) {
  options_.prefix = "Ünï ☃\n-*?";
  options_.name_length = 255;
  options_.actions = {Action::mkdir, Action::directory_rename, Action::rename, Action::symlink,
                      Action::readdir};
  expect_right(variant({.branching = 3, .depth = 1}), options_);
}

TEST_F(Metadata, WhatIsKeptIsWhatFindCountsAndALaterRunFindsIt) {
  const Variant kept = variant({.branching = 3, .depth = 2, .sharing = Sharing::per_rank});
  options_.actions = {Action::tree_create, Action::mkdir, Action::create};
  options_.keep = true;
  const auto record = run(kept, options_);
  ASSERT_TRUE(is_ok_on_all_ranks(record));
  std::int64_t files = 0;
  std::int64_t directories = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder())) {
    files += entry.is_regular_file() ? 1 : 0;
    directories += entry.is_directory() ? 1 : 0;
  }
  EXPECT_EQ(files, kept.shape.all_items());
  EXPECT_EQ(directories, kept.shape.all_items() + kept.shape.trees() * 13);
  MPI_Barrier(job().world);

  // A tree that is there cannot be made again.
  options_.actions = {Action::tree_create};
  expect_failure(kept, options_, "tree-create", fmt::format("/weir-tree.{}", job().rank));
  options_.existing = true;
  options_.actions = {Action::directory_stat, Action::rmdir, Action::read, Action::unlink,
                      Action::tree_remove};
  expect_right(kept, options_);
}

TEST_F(Metadata, OfWhatAnEarlierRunKeptARankHandlesTheNextOnesItems) {
  const Variant one_more = variant({.total = job().size + 1});
  options_.actions = {Action::create};
  options_.keep = true;
  ASSERT_TRUE(is_ok_on_all_ranks(run(one_more, options_)));
  options_.existing = true;
  options_.keep = false;
  options_.kinds.directories = false;
  options_.actions = {Action::stat};
  const auto record = run(one_more, options_);
  clear();
  ASSERT_TRUE(is_ok_on_all_ranks(record));
  EXPECT_EQ(record.value().phases.front().operations, one_more.shape.items(next_rank()));
}

// Ranks run one after the other where they share few processors.
TEST_F(Metadata, TheSpanOfRanksGoesFromTheFirstStartToTheLastEnd) {
  constexpr std::int64_t second = 1'000'000'000;
  // Each has a clock of its own, acts for 5 s, and begins 10 s after the one before it.
  const ClockOffset offset{.offset_ns = -job().rank * 100 * second};
  const std::int64_t start = (job().rank * 10 + 1000) * second - offset.offset_ns;
  const ActivePeriod acted{.start_ns = start, .end_ns = start + 5 * second};
  const auto expect_on_rank_0 = [&](double found, double right, const char* what) {
    if (job().rank == 0) {
      EXPECT_NEAR(found, right, 1e-9) << what;
    }
  };
  const auto last = static_cast<double>(job().size - 1);
  expect_on_rank_0(span_over_ranks(job(), &acted, offset), 10 * last + 5, "of all ranks");
  const ActivePeriod pausing{start, start + 5 * second, (job().rank + 1) * second};
  expect_on_rank_0(span_over_ranks(job(), &pausing, offset), 10 * last + 4,
                   "less the shortest pause");
  const bool is_last = job().rank == job().size - 1;
  expect_on_rank_0(span_over_ranks(job(), is_last ? &acted : nullptr, offset), 5, "of one rank");
  expect_on_rank_0(span_over_ranks(job(), nullptr, offset), 0, "of no rank");
}

// Each rank of a node acts after the one before it: together they take as long as all of them.
TEST_F(Metadata, TheSpanOfANodeGoesFromTheFirstStartToTheLastEnd) {
  const std::int64_t begin = 100 * job().node_rank;
  const ActivePeriod in_turn{.start_ns = begin, .end_ns = begin + 100, .paused_ns = 0};
  const double node_span = span_over_node(job(), &in_turn);
  EXPECT_NEAR(node_span * 1e9, job().node_rank == 0 ? 100.0 * job().node_size : 0, 0.5);
}

class Stonewalls : public Metadata, public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, Stonewalls, ::testing::Values("POSIX", "AT", "MPIIO"),
                         [](const auto& tested) { return short_name(tested.param); });

// Each rank begins one item and is past the stonewall then: one item of each is left for all that
// follows, and the next run finds how many.
TEST_P(Stonewalls, EndAPhaseAfterTheItemThatWasBegun) {
  const std::string file = folder() + ".stonewall";
  options_.actions = {Action::create};
  if (interface_named(GetParam())->can.name_calls.has(NameCall::stat))
    options_.actions.push_back(Action::stat);
  options_.stonewall_seconds = 1e-9;
  options_.stonewall_file = file;
  options_.keep = true;
  const auto record = run(variant({.depth = 2}, GetParam()), options_);
  ASSERT_TRUE(is_ok_on_all_ranks(record));
  for (const ActionRecord& phase : record.value().phases) {
    EXPECT_EQ(phase.operations, 1) << phase.measured.name();
  }
  if (job().rank == 0) {
    std::int64_t items = 0;
    std::ifstream(file) >> items;
    EXPECT_EQ(items, 1);
    std::int64_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
      files += entry.is_regular_file() ? 1 : 0;
    }
    EXPECT_EQ(files, job().size);
    fs::remove(file);
  }
  clear();
}

TEST_F(Metadata, AStonewallThatIsNotReachedChangesNothing) {
  options_.actions = {Action::create, Action::stat, Action::unlink};
  options_.stonewall_seconds = 3600;
  expect_right(variant({.depth = 1}), options_);
}

// The counters of a network file system's client stand still: every phase says so, on one rank of a
// node, and where there are none nobody says anything.
TEST_F(Metadata, CallsOfAServerAreToldOnceOnANodeWhereTheyAreCounted) {
  const std::string counters = folder() + ".mountstats";
  if (job().rank == 0) {
    std::ofstream(counters) << "device server:/e mounted on /m with fstype nfs4 statvers=1.1\n"
                               "\tper-op statistics\n\t GETATTR: 3 3 0 1 1 0 0 0 0\n";
  }
  MPI_Barrier(job().world);
  options_.actions = {Action::create, Action::stat};
  for (const char* point : {"/m", "/other"}) {
    SCOPED_TRACE(point);
    const bool counted = std::string_view(point) == "/m";
    Executor executor(job(), guard(), core_, options_, folder(), seed,
                      ClientCalls(counters, point));
    EXPECT_EQ(executor.counts_server_calls(), counted);
    const auto record = executor.run(variant({}));
    ASSERT_TRUE(is_ok_on_all_ranks(record));
    EXPECT_EQ(record.value().phases.size(), 2U);
    for (const ActionRecord& phase : record.value().phases) {
      EXPECT_EQ(phase.server_calls.has_value(), counted && job().node_rank == 0);
      const auto all = sum_over_nodes(job(), phase.server_calls);
      EXPECT_EQ(all.has_value(), counted && job().rank == 0);
      EXPECT_TRUE(!all || all->empty()) << "calls that nobody made";
    }
  }
  MPI_Barrier(job().world);
  if (job().rank == 0) fs::remove(counters);
  clear();
}

TEST_F(Metadata, CallsOfAServerAreAddedUpOverNodes) {
  const auto sum = sum_over_nodes(job(), CallCounts{{"GETATTR", 2}, {"LOOKUP", 1}});
  if (job().rank != 0) return;
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->at("GETATTR"), 2 * job().nodes);
}

}  // namespace
}  // namespace weir::bench::metadata
