// The nodes of a job are compared, one rank for each. Here each rank stands for a node, and has a
// made-up description.
#include "measurement/node_comparison.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/on_ranks.hpp"
#include "measurement/environment.hpp"

namespace weir::bench {
namespace {

using nlohmann::json;
using test::rank_of_world;
using test::size_of_world;

json node_with(const std::string& kernel, int cores) {
  return {{"hardware",
           {{"described_host", "n" + std::to_string(rank_of_world())},
            {"processor", {{"cores", cores}}}}},
          {"system_software", {{"kernel", kernel}}},
          {"file_system", {{"type", "lustre"}}}};
}

TEST(NodeComparison, SaysThatNodesAreAlike) {
  const json found = compare_nodes(MPI_COMM_WORLD, node_with("6.1.1", 16));
  if (rank_of_world() != 0) {
    EXPECT_EQ(found, nullptr);
    return;
  }
  EXPECT_EQ(found, (json{{"described", size_of_world()},
                         {"alike", size_of_world()},
                         {"kinds", json::array()},
                         {"unlisted", 0}}));
}

TEST(NodeComparison, FindsThePlacesOfNodesThatDiffer) {
  const int last = size_of_world() - 1;
  const bool newer = rank_of_world() == 1 || rank_of_world() == 2;
  json mine = node_with(newer ? "6.1.4" : "6.1.1", 16);
  if (rank_of_world() == last && last > 2) mine = node_with("6.1.1", 8);
  const json found = compare_nodes(MPI_COMM_WORLD, mine);
  if (rank_of_world() != 0) return;
  json kinds = json::array();
  const auto add = [&kinds](int first, int final, json differences) {
    kinds.push_back({{"nodes", final - first + 1},
                     {"places", json::array({{first, final}})},
                     {"differences", std::move(differences)},
                     {"left_out", json::array()}});
  };
  if (last >= 1) add(1, std::min(2, last), {{"system_software", {{"kernel", "6.1.4"}}}});
  if (last > 2) add(last, last, {{"hardware", {{"processor", {{"cores", 8}}}}}});
  EXPECT_EQ(found["kinds"], kinds);
  EXPECT_EQ(found["described"], size_of_world());
  EXPECT_EQ(found["alike"], size_of_world() - std::min(2, last) - (last > 2 ? 1 : 0));
}

TEST(NodeComparison, OfTheProcessesOfOneNodeFindsNothing) {
  const json found = compare_nodes(MPI_COMM_WORLD, describe_node("/tmp"));
  if (rank_of_world() == 0) {
    EXPECT_EQ(found["alike"], size_of_world()) << found;
  }
}

TEST(NodeComparison, TakesTextsThatAreNotUtf8) {
  const json found = compare_nodes(MPI_COMM_WORLD, node_with("\xff\xfe", 16));
  if (rank_of_world() != 0) return;
  EXPECT_EQ(found["alike"], size_of_world());
}

}  // namespace
}  // namespace weir::bench
