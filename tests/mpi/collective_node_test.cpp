// What the ranks of a node do together: who of them aggregates, and what nodes without coherent
// caches leave to one of them. Some tests need a job of their own kind, and ctest starts them one
// by one: FullDisk (a fault is injected into rank 1's first write), MissingRank, and BoundRanks.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregation/collective_state.hpp"
#include "aggregation/node_group.hpp"
#include "collective.hpp"
#include "engines/test_faulty_engine.hpp"

namespace weir::test {
namespace {

using aggregation::NodeGroup;

cpu_set_t cores_of_this_rank() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  return cores;
}

void bind_to(const cpu_set_t& cores) { EXPECT_EQ(sched_setaffinity(0, sizeof cores, &cores), 0); }

// The parameter says whether the ranks in turn are bound to one core each.
class Holders : public CollectiveTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    CollectiveTest::SetUp();
    MPI_Comm_dup(MPI_COMM_WORLD, &all_);
    if (!GetParam()) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    std::int64_t skipped = rank_ % CPU_COUNT(&allowed_);
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &allowed_) && skipped-- == 0) CPU_SET(core, &one);
    }
    bind_to(one);
  }
  void TearDown() override {
    bind_to(allowed_);
    MPI_Comm_free(&all_);
    CollectiveTest::TearDown();
  }

  MPI_Comm all_ = MPI_COMM_NULL;

 private:
  const cpu_set_t allowed_ = cores_of_this_rank();
};

INSTANTIATE_TEST_SUITE_P(Ranks, Holders, ::testing::Bool(), [](const auto& tested) {
  return tested.param ? "BoundToACore" : "NotBound";
});

// By the cores that its ranks may use together: not by those that one of them is bound to.
TEST_P(Holders, AreAsManyAsANodesRanksHaveCoresTogether) {
  const cpu_set_t mine = cores_of_this_rank();
  cpu_set_t together;
  MPI_Allreduce(&mine, &together, sizeof(cpu_set_t), MPI_BYTE, MPI_BOR, all_);
  const std::int64_t most = std::min<std::int64_t>({CPU_COUNT(&together), ranks_, 16});
  ranks::Revocation opening(ranks::Revocation::Local{}, all_);
  NodeGroup group;
  ASSERT_TRUE(is_ok_on_all_ranks(group.create(all_, 0, {}, 0, 2, 4096, 60, opening)));
  EXPECT_EQ(group.holders_per_node(), most);
  EXPECT_EQ(group.holders(), most);
  EXPECT_EQ(group.cores_per_node(), CPU_COUNT(&together));
}

// The last node has one rank where the others have two.
TEST_P(Holders, AreNotFewerBecauseOneNodeHasFewerRanks) {
  if (ranks_ < 3) GTEST_SKIP() << "there are no two nodes";
  ranks::Revocation opening(ranks::Revocation::Local{}, all_);
  NodeGroup pairs;
  ASSERT_TRUE(is_ok_on_all_ranks(pairs.create(all_, 2, {}, 2, 2, 4096, 60, opening)));
  EXPECT_EQ(pairs.holders_per_node(), 2);
  EXPECT_EQ(pairs.holders(), ranks_);
  EXPECT_EQ(pairs.own_holder(), rank_ % 2);
}

TEST(BoundRanks, MayUseFewerCoresThanThereAre) {
  const cpu_set_t mine = cores_of_this_rank();
  const std::int64_t online = sysconf(_SC_NPROCESSORS_ONLN);
  EXPECT_TRUE(CPU_COUNT(&mine) < online || online == 1) << "the launcher has not bound the ranks";
}

// Rank 1 has gone on to the end of the test.
using MissingRank = CollectiveTest;

TEST_F(MissingRank, ThatDoesNotComeToShareMemoryIsToldAtTheDeadline) {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  if (rank_ == 1) return;
  NodeGroup group;
  ranks::Revocation revocation(all);
  const Status made = group.create(all, 0, {}, 1, 2, 4096, 0.5, revocation);
  EXPECT_TRUE(!made && made.error().code == ErrorCode::deadline);
  group.abandon();
}

// Rank 1 has more than all others together, and rank 2 has none.
std::vector<std::int64_t> numbers_of(int rank) {
  const std::size_t count =
      rank == 1 ? 500 : (rank == 2 ? 0 : 7 * static_cast<std::size_t>(rank) + 3);
  std::vector<std::int64_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = 1000 * rank + static_cast<std::int64_t>(i);
  return numbers;
}

using Gathering = CollectiveTest;

// In one round and in many: as many as fit, one more, and so many that each rank tells one number
// in a round.
TEST_F(Gathering, BringsAllNumbersToRank0InAnyNumberOfRounds) {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  {
    ranks::Revocation opening(ranks::Revocation::Local{}, all);
    aggregation::CollectiveState state;
    state.communicator = all;
    state.rank = rank_;
    state.ranks = ranks_;
    state.settings.deadline_seconds = 60;
    state.group = std::make_unique<NodeGroup>();
    EXPECT_TRUE(is_ok(state.group->create(all, 2, {}, 1, 2, 4096, 60, opening)));
    std::vector<std::int64_t> wanted;
    for (int of = 0; of < ranks_; ++of) {
      const auto numbers = numbers_of(of);
      wanted.insert(wanted.end(), numbers.begin(), numbers.end());
    }
    const auto total = static_cast<std::int64_t>(wanted.size());
    if (rank_ != 0) wanted.clear();
    for (const std::int64_t together : {aggregation::most_gathered_together, total, total - 1,
                                        total / 2, std::int64_t{20}, std::int64_t{1}}) {
      SCOPED_TRACE(fmt::format("{} numbers by {}", total, together));
      const auto gathered = aggregation::gather_at_rank_0(state, numbers_of(rank_), "the test",
                                                          std::max<std::int64_t>(1, together));
      EXPECT_TRUE(gathered.ok() && gathered.value() == wanted);
      const auto nothing = aggregation::gather_at_rank_0(state, {}, "the test", together);
      EXPECT_TRUE(nothing.ok() && nothing.value().empty());
    }
  }
  MPI_Comm_free(&all);
}

constexpr int ranks_per_node = 2;

// Strategy, whether the caches of nodes are coherent, and whether the array is chunked. Engines
// fail on all nodes but rank 0's.
class Caches
    : public CollectiveTest,
      public ::testing::WithParamInterface<std::tuple<std::optional<Strategy>, bool, bool>> {
 protected:
  static std::unique_ptr<storage::Engine> fail_elsewhere(std::unique_ptr<storage::Engine> engine) {
    if (rank_of_world() < ranks_per_node) return engine;
    for (const auto operation :
         {storage::Fault::Operation::write, storage::Fault::Operation::read}) {
      engine = make_faulty_engine(std::move(engine), {.operation = operation, .system_error = EIO});
    }
    return engine;
  }
  const bool all_here_ = ranks_ <= ranks_per_node;
};

std::string name_of_caches(const ::testing::TestParamInfo<Caches::ParamType>& tested) {
  const auto& [strategy, is_coherent, is_chunked] = tested.param;
  std::string name(aggregation::name_of(strategy));
  std::erase(name, '-');
  return name + (is_coherent ? "Coherent" : "NotCoherent") + (is_chunked ? "Chunks" : "Contiguous");
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Caches,
    ::testing::Combine(::testing::Values(std::optional<Strategy>(),
                                         std::optional(Strategy::two_phase),
                                         std::optional(Strategy::server_directed)),
                       ::testing::Bool(), ::testing::Bool()),
    name_of_caches);

TEST_P(Caches, ThatAreNotCoherentLeaveAllBytesOfAFileToRank0sNode) {
  const auto& [strategy, is_coherent, is_chunked] = GetParam();
  CollectiveSettings settings = settings_of(strategy, 640, 2, ranks_per_node);
  settings.targets.coherent_caches = is_coherent;
  settings.before_engine = fail_elsewhere;
  const auto collective = create(settings);
  ASSERT_TRUE(holds_on_all_ranks(collective != nullptr));
  Rows rows(200);
  storage::ArrayDescription described = rows.described();
  if (is_chunked) described.chunk_extents = array::Indices{3, 50};
  auto made = collective->create_array(path("weir-array"), described);
  ASSERT_TRUE(is_ok_on_all_ranks(made));
  const ArrayPart part = rows.part(*made.value());
  const Status written = collective->write({&part, 1});
  EXPECT_EQ(written.ok(), all_here_ || !is_coherent) << is_ok(written).message();
  if (!holds_on_all_ranks(written.ok())) return;
  const std::vector<std::int64_t> before = rows.data;
  rows.data.assign(rows.data.size(), 0);
  EXPECT_TRUE(is_ok(collective->read({&part, 1})));
  EXPECT_EQ(rows.data, before);
  const Status alone =
      collective->move_alone(made.value()->array(0), Direction::read, rows.alone());
  EXPECT_EQ(alone.ok(), all_here_ || is_coherent) << is_ok(alone).message();
  EXPECT_TRUE(is_ok(collective->close_file(*made.value())));
}

using DirectStrategy = CollectiveTest;

TEST_F(DirectStrategy, IsRefusedForWritingByNodesWithoutCoherentCaches) {
  CollectiveSettings settings = settings_of(Strategy::direct, 640, 0, ranks_per_node);
  settings.targets.coherent_caches = false;
  const auto direct = create(settings);
  ASSERT_TRUE(holds_on_all_ranks(direct != nullptr));
  const Rows rows(200);
  auto made = direct->create_array(path("weir-array"), rows.described());
  ASSERT_TRUE(is_ok_on_all_ranks(made));
  const ArrayPart part = rows.part(*made.value());
  const Status written = direct->write({&part, 1});
  const std::string text = written ? "" : written.error().text();
  EXPECT_EQ(written.ok(), ranks_ <= ranks_per_node) << text;
  EXPECT_TRUE(written ||
              text.find("strategy direct is not possible: several nodes") != std::string::npos)
      << text;
  EXPECT_TRUE(is_same_on_all_ranks(text));
  EXPECT_TRUE(is_ok(direct->close_file(*made.value())));
  // What nobody writes is read by all.
  auto opened = direct->open_array(path("weir-array"), false);
  ASSERT_TRUE(is_ok_on_all_ranks(opened));
  const ArrayPart again = rows.part(*opened.value());
  EXPECT_TRUE(is_ok(direct->read({&again, 1})));
  EXPECT_TRUE(is_ok(direct->close_file(*opened.value())));
}

class FullDisk : public CollectiveTest, public ::testing::WithParamInterface<SettingsCase> {};

// With node aggregation, each rank aggregates.
INSTANTIATE_TEST_SUITE_P(
    Strategies, FullDisk,
    ::testing::Values(SettingsCase{"direct", settings_of(Strategy::direct, 0, 0, 0)},
                      SettingsCase{"node", settings_of(Strategy::node_aggregation, 64, 3, 0)},
                      SettingsCase{"two_phase", settings_of(Strategy::two_phase, 64, 1, 1)},
                      SettingsCase{"server_directed",
                                   settings_of(Strategy::server_directed, 64, 1, 1)}),
    name_of_case);

TEST_P(FullDisk, OfOneRankIsToldToAllAndTheNextCallWorks) {
  const auto collective = create(GetParam().settings);
  ASSERT_TRUE(holds_on_all_ranks(collective != nullptr));
  Rows rows(200);  // so that rank 1 has pages of the file for its own
  auto made = collective->create_array(path("weir-fault"), rows.described());
  ASSERT_TRUE(is_ok_on_all_ranks(made));
  const ArrayPart part = rows.part(*made.value());
  const Status written = collective->write({&part, 1});
  EXPECT_FALSE(written.ok()) << "the fault was not met";
  const std::string text = written ? "" : written.error().text();
  EXPECT_TRUE(is_same_on_all_ranks(text));
  EXPECT_TRUE(text.starts_with("rank 1: ")) << text;
  EXPECT_NE(text.find("No space left on device"), std::string::npos) << text;
  EXPECT_NE(text.find("weir-fault, offset "), std::string::npos) << text;
  EXPECT_TRUE(is_ok(collective->write({&part, 1})));
  const std::vector<std::int64_t> before = rows.data;
  rows.data.assign(rows.data.size(), 0);
  EXPECT_TRUE(is_ok(collective->read({&part, 1})));
  EXPECT_EQ(rows.data, before);
  EXPECT_TRUE(is_ok(collective->close_file(*made.value())));
}

}  // namespace
}  // namespace weir::test
