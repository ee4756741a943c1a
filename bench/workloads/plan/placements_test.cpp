// What placements of aggregators do to the hops and groups that data crosses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "plan/placing.hpp"
#include "plan/test_machines.hpp"
#include "workloads/plan/audit.hpp"

namespace weir::bench::plan_audit {
namespace {

using namespace plan;
using topology::PlacementRule;

PlanAudit counted(const Request& request, const topology::Topology& topology,
                  const Parameters& parameters) {
  const AuditLimits limits{.pieces = 2, .steps = 1, .messages = 1};
  return audit(request, topology, {}, parameters, limits).value();
}

constexpr std::int64_t psets_nodes = 8 * 8 * 16;

// Groups of 64 nodes are 4 lines of 16 nodes. The part of the file of each of 8 aggregators comes
// from 8 neighbours in a line: at their middle it is 2 hops away, at the first of them 3.5.
TEST(Placements, NearestHasTheFewestHopsIfDataIsClustered) {
  const auto topology = machine(psets_nodes, 64, "8x8x16");
  const Request request = stretches_of(psets_nodes * 1024, psets_nodes);
  const auto mean_hops = [&](PlacementRule rule) {
    return counted(request, topology, placed(rule, 8)).mean_hops;
  };
  EXPECT_DOUBLE_EQ(mean_hops(PlacementRule::nearest), 2);
  EXPECT_DOUBLE_EQ(mean_hops(PlacementRule::priced), 2);
  EXPECT_DOUBLE_EQ(mean_hops(PlacementRule::spread), 3.5);
  double of_first = 0;
  for (std::int64_t number = 0; number < 8; ++number) {
    for (std::int64_t from = number * 8; from < number * 8 + 8; ++from) {
      of_first += static_cast<double>(topology.network()->hops(from, number)) / 64;
    }
  }
  EXPECT_DOUBLE_EQ(mean_hops(PlacementRule::first), of_first);
  EXPECT_GT(of_first, 3.5);
}

// All nodes of a torus of 4x4x4 are one group with 8 aggregators; each gathers from half a plane.
TEST(Placements, NearestIsNeverWorseThanTheOthersForBlocksInATorus) {
  const auto topology = machine(64, 64, "4x4x4");
  const Request request = blocks_of({32, 32, 32}, {4, 4, 4});
  std::map<PlacementRule, double> hop_bytes;
  for (const PlacementRule rule : topology::all_placement_rules) {
    hop_bytes[rule] = counted(request, topology, placed(rule, 8)).hop_bytes;
  }
  EXPECT_LE(hop_bytes[PlacementRule::nearest], hop_bytes[PlacementRule::spread]);
  EXPECT_LT(hop_bytes[PlacementRule::nearest], hop_bytes[PlacementRule::first]);
  EXPECT_LE(hop_bytes[PlacementRule::priced], hop_bytes[PlacementRule::first]);
}

TEST(Placements, NoPlacementCrossesGroups) {
  const auto topology = machine(64, 8, "4x4x4");
  for (const PlacementRule rule : topology::all_placement_rules) {
    SCOPED_TRACE(topology::name_of(rule));
    const auto found = counted(blocks_of({32, 32, 32}, {4, 4, 4}), topology, placed(rule, 2));
    EXPECT_EQ(found.bytes_across_groups, 0);
    EXPECT_GT(found.hop_bytes, 0);
  }
}

// MPI-IO on a Blue Gene did this: the first nodes of each pset aggregate, for all psets.
TEST(Placements, FirstOfEachWayOutCrossesGroupsInOneGroup) {
  const auto grouped = machine(64, 16, "4x4x4");
  const auto one_group = grouped.with_io_groups(64).value();
  Parameters parameters = placed(PlacementRule::first, 8);
  parameters.nodes_per_way_out = 16;
  const Request request = blocks_of({32, 32, 32}, {4, 4, 4});
  const auto plan = Plan::create(request, one_group, parameters).value();
  EXPECT_THAT(nodes_of(*plan), ::testing::ElementsAre(0, 1, 16, 17, 32, 33, 48, 49));
  const auto found = audit(request, one_group, {}, parameters, {}, &grouped).value();
  // Domains are halves of planes, and so are the groups: everything of a domain is in its group.
  EXPECT_EQ(found.bytes_across_groups, 0);
  const Request columns = blocks_of({64, 4096}, {1, 64});
  EXPECT_EQ(audit(columns, one_group, {}, parameters, {}, &grouped).value().bytes_across_groups,
            64 * 4096 * 8 * 3 / 4);
}

}  // namespace
}  // namespace weir::bench::plan_audit
