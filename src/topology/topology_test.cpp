#include "topology/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace weir::topology {
namespace {

// Returns what the answers must be, from the list of the ranks' nodes.
void check_against(const Topology& topology, const std::vector<std::int64_t>& node_of_rank) {
  ASSERT_EQ(topology.ranks(), static_cast<std::int64_t>(node_of_rank.size()));
  std::vector<std::vector<std::int64_t>> ranks(static_cast<std::size_t>(topology.nodes()));
  for (std::int64_t rank = 0; rank < topology.ranks(); ++rank) {
    const std::int64_t node = node_of_rank[static_cast<std::size_t>(rank)];
    ASSERT_EQ(topology.node_of(rank), node);
    auto& on_node = ranks[static_cast<std::size_t>(node)];
    ASSERT_EQ(topology.position_on_node(rank), static_cast<std::int64_t>(on_node.size()));
    on_node.push_back(rank);
  }
  for (std::int64_t node = 0; node < topology.nodes(); ++node) {
    const auto& on_node = ranks[static_cast<std::size_t>(node)];
    ASSERT_EQ(topology.ranks_on(node), static_cast<std::int64_t>(on_node.size()));
    for (std::size_t i = 0; i < on_node.size(); ++i) {
      ASSERT_EQ(topology.rank_on(node, static_cast<std::int64_t>(i)), on_node[i]);
    }
  }
}

TEST(Topology, FilledAndDistributedNodesAreOneStretch) {
  const auto filled = Topology::filled(10, 4).value();
  EXPECT_EQ(filled.stretches().size(), 1U);
  check_against(filled, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2});
  const auto distributed = Topology::round_robin(7, 3).value();
  EXPECT_EQ(distributed.stretches().size(), 1U);
  check_against(distributed, {0, 1, 2, 0, 1, 2, 0});
  EXPECT_EQ(Topology::single_node(5).value().nodes(), 1);
}

TEST(Topology, OfNodesFindsTheRegularDescription) {
  EXPECT_EQ(Topology::of_nodes(std::vector<std::int64_t>{7, 7, 3, 3, 9}).value(),
            Topology::filled(5, 2).value());
  EXPECT_EQ(Topology::of_nodes(std::vector<std::int64_t>{4, 2, 4, 2, 4}).value(),
            Topology::round_robin(5, 2).value());
}

TEST(Topology, OfAnyNodesAnswersAsTheListDoes) {
  std::mt19937_64 engine(300);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  };
  for (int round = 0; round < 300; ++round) {
    const std::int64_t most = between(1, 6);
    std::vector<std::int64_t> numbered;
    std::vector<std::int64_t> given;
    std::int64_t seen = 0;
    while (static_cast<std::int64_t>(numbered.size()) < between(1, 30)) {
      const std::int64_t node = between(0, std::min(seen, most));
      seen = std::max(seen, node + 1);
      for (std::int64_t i = between(1, 4); i > 0; --i) {
        numbered.push_back(node);
        given.push_back(1000 - node);
      }
    }
    if (numbered.empty()) continue;
    check_against(Topology::of_nodes(given).value(), numbered);
  }
}

TEST(Topology, GroupsNodes) {
  const auto regular = Topology::filled(20, 2).value().with_io_groups(4).value();
  EXPECT_EQ(regular.io_groups(), 3);
  EXPECT_EQ(regular.nodes_in_group(2), 2);
  EXPECT_EQ(regular.node_in_group(1, 3), 7);
  EXPECT_EQ(regular.position_in_group(7), 3);
  const std::vector<std::int64_t> groups = {1, 0, 1, 2, 0};
  const auto listed = Topology::filled(5, 1).value().with_io_groups(groups).value();
  EXPECT_EQ(listed.io_groups(), 3);
  EXPECT_EQ(listed.nodes_in_group(1), 2);
  EXPECT_EQ(listed.node_in_group(0, 1), 4);
  for (std::int64_t node = 0; node < 5; ++node) {
    EXPECT_EQ(listed.node_in_group(listed.io_group_of_node(node), listed.position_in_group(node)),
              node);
  }
}

TEST(Topology, RefusesWhatIsNoTopology) {
  EXPECT_FALSE(Topology::filled(0, 4).ok());
  EXPECT_FALSE(Topology::filled(4, 0).ok());
  EXPECT_FALSE(Topology::round_robin(2, 3).ok());
  EXPECT_FALSE(Topology::of_nodes({}).ok());
  EXPECT_FALSE(Topology::of_stretches(std::vector<Stretch>{{2, 1, 1, 1}}).ok());  // no rank on 0
  const auto some = Topology::filled(4, 1).value();
  EXPECT_FALSE(some.with_io_groups(0).ok());
  EXPECT_FALSE(some.with_io_groups(std::vector<std::int64_t>{0, 0, 2, 2}).ok());
  EXPECT_FALSE(some.with_io_groups(std::vector<std::int64_t>{0, 0, 1}).ok());
}

// Every plan that is kept has a topology, and an irregular one is a table of the job's ranks.
TEST(Topology, CopiesShareWhatGrowsWithTheRanks) {
  std::vector<std::int64_t> shuffled;
  shuffled.reserve(1000);
  for (std::int64_t rank = 0; rank < 1000; ++rank) shuffled.push_back(rank * rank % 31);
  const auto irregular = Topology::of_nodes(shuffled).value();
  ASSERT_GT(irregular.stretches().size(), 500U);
  const Topology copy = irregular;  // NOLINT(performance-unnecessary-copy-initialization): the test
  EXPECT_EQ(copy.stretches().data(), irregular.stretches().data());
  EXPECT_EQ(irregular.with_io_groups(2).value().stretches().data(), irregular.stretches().data());
  EXPECT_EQ(Topology::of_nodes(shuffled).value(), irregular);
  shuffled[3] = shuffled[4];
  EXPECT_NE(Topology::of_nodes(shuffled).value(), irregular);
}

TEST(Topology, HasAtMostTheRanksThatMpiCanNumber) {
  constexpr std::int64_t most = INT32_MAX;
  const auto filled = Topology::filled(most, 128);
  ASSERT_TRUE(filled.ok()) << filled.error().text();
  EXPECT_EQ(filled.value().ranks(), most);
  EXPECT_EQ(filled.value().node_of(most - 1), (most - 1) / 128);
  EXPECT_EQ(filled.value().rank_on((most - 1) / 128, (most - 1) % 128), most - 1);
  const auto distributed = Topology::round_robin(most, most);
  ASSERT_TRUE(distributed.ok()) << distributed.error().text();
  EXPECT_EQ(distributed.value().nodes(), most);
  EXPECT_EQ(Topology::single_node(most).value().ranks_on(0), most);
  const std::vector<Stretch> together = {{most - 5, 0, 1, most - 5}, {5, 1, 1, 5}};
  EXPECT_EQ(Topology::of_stretches(together).value().ranks(), most);

  const std::vector<Stretch> beyond = {{most - 5, 0, 1, most - 5}, {6, 1, 1, 6}};
  for (const auto& refused : {Topology::filled(most + 1, 128), Topology::round_robin(most + 1, 4),
                              Topology::round_robin(most + 1, most + 1),
                              Topology::single_node(most + 1), Topology::of_stretches(beyond)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().text().find("at most 2147483647 ranks"), std::string::npos)
        << refused.error().text();
  }
}

TEST(Topology, OfAMillionRanksIsOneStretch) {
  const auto topology = Topology::filled(1 << 20, 64).value();
  EXPECT_EQ(topology.nodes(), 16384);
  EXPECT_EQ(topology.node_of(1000000), 15625);
  EXPECT_EQ(topology.stretches().size(), 1U);
}

}  // namespace
}  // namespace weir::topology
