// Chooses the ranks that aggregate: the same number in every group of nodes, spread over its nodes,
// so that each has links and memory of its own as far as there are nodes. A group gathers only from
// its own ranks: nothing crosses an I/O group.
//
// Aggregators have places, 0 to their number, node after node: a node's aggregators have
// neighbouring places. Their numbers are their places too, unless they serve the stripes of several
// targets in turn: aggregator i then serves target i mod targets, and those of one target have
// neighbouring places, so that they are on few nodes:
//
//     8 aggregators, 4 targets, 4 nodes     place     0  1   2  3   4  5   6  7
//                                           node      0  0   1  1   2  2   3  3
//                                           number    0  4   1  5   2  6   3  7
//
// Only so many ranks of a node can be aggregators as have buffers there: its holders, which are
// spread over the node's ranks alike whichever plan asks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/status.hpp"
#include "topology/topology.hpp"

namespace weir::topology {

// The ranks whose data an aggregator may gather.
enum class GatherWithin {
  node,      // by shared memory alone
  io_group,  // between the nodes of an I/O group; of all nodes where there is one group
};

struct AggregatorLimits {
  std::int64_t per_node = 0;  // ranks of a node that can be aggregators; 0: all
  std::int64_t targets = 1;   // that aggregators serve in turn
};

class AggregatorPlacement {
 public:
  // `aggregators_per_group` of them, or as many as a group's nodes can have where that is less.
  // Nodes have equally many, but for rounding, as long as the smallest can have its share. Fails on
  // fewer than 1.
  static Result<AggregatorPlacement> create(const Topology& topology, GatherWithin within,
                                            std::int64_t aggregators_per_group,
                                            const AggregatorLimits& limits = {});

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] GatherWithin within() const { return within_; }
  [[nodiscard]] std::int64_t groups() const;
  [[nodiscard]] std::int64_t group_of_rank(std::int64_t rank) const;
  [[nodiscard]] std::int64_t ranks_in(std::int64_t group) const;
  // The rank at `position` among those of a group, node after node.
  [[nodiscard]] std::int64_t rank_in(std::int64_t group, std::int64_t position) const;

  [[nodiscard]] std::int64_t aggregators_in(std::int64_t group) const;
  // The nodes of a group that aggregators are spread over.
  [[nodiscard]] std::int64_t nodes_used(std::int64_t group) const;
  // The rank that is aggregator `number` of a group, 0 <= number < aggregators_in(group). No rank
  // is two of them.
  [[nodiscard]] std::int64_t rank_of(std::int64_t group, std::int64_t number) const;
  // The number of a rank among the aggregators of its group; -1 when it is none.
  [[nodiscard]] std::int64_t aggregator_at(std::int64_t rank) const;
  // The place of an aggregator among those of its group, node after node.
  [[nodiscard]] std::int64_t place_of(std::int64_t group, std::int64_t number) const;
  // The place from which a rank goes through its group's aggregators: that of the first aggregator
  // of the next node that has any. So not all nodes are at the same aggregators at a time, and the
  // ranks of a node are, which fill messages together.
  [[nodiscard]] std::int64_t first_place_for(std::int64_t rank) const;

 private:
  // How a group's aggregators are shared out: over `shares` alike, and each node has some of these.
  struct Sharing {
    std::int64_t aggregators = 0;
    std::int64_t shares = 0;
    std::int64_t nodes = 0;   // of the group
    bool by_holders = false;  // a share is a rank that can aggregate; otherwise a node
  };
  AggregatorPlacement(const Topology& topology, GatherWithin within, std::int64_t per_group,
                      const AggregatorLimits& limits);
  [[nodiscard]] std::int64_t nodes_of(std::int64_t group) const;
  [[nodiscard]] std::int64_t node_at(std::int64_t group, std::int64_t position) const;
  [[nodiscard]] std::int64_t position_of(std::int64_t node) const;
  [[nodiscard]] std::int64_t holders_on(std::int64_t node) const;
  // How many ranks can aggregate on the nodes of a group before the one at `position`.
  [[nodiscard]] std::int64_t holders_before(std::int64_t group, std::int64_t position) const;
  [[nodiscard]] Sharing sharing_in(std::int64_t group) const;
  // The place of the first aggregator of the node at `position` or of a later one.
  [[nodiscard]] std::int64_t first_place(std::int64_t group, const Sharing& sharing,
                                         std::int64_t position) const;
  [[nodiscard]] std::int64_t position_with(std::int64_t group, const Sharing& sharing,
                                           std::int64_t place) const;

  Topology topology_;
  GatherWithin within_;
  std::int64_t per_group_;
  AggregatorLimits limits_;
  // Where nodes have unequally many holders: those of the nodes before, in each group. Copies of a
  // placement share it.
  std::shared_ptr<const std::vector<std::int64_t>> holders_before_;
};

// The most nodes that write to one target where there are more nodes than targets: each further one
// costs locks and seeks there, and a few fill its link.
inline constexpr std::int64_t most_nodes_per_target = 4;

// How many of `nodes` the aggregators of `targets` targets are spread over: all, or a multiple of
// the targets such that none is met by more than most_nodes_per_target.
[[nodiscard]] std::int64_t nodes_for_targets(std::int64_t nodes, std::int64_t targets);

// A number of aggregators for one group, where nothing better is known than where things are: one
// per node, but at least one per target where a group has the ranks, and then a multiple of the
// targets' number or a divisor of it, so that targets are served alike.
[[nodiscard]] std::int64_t aggregators_for(const Topology& topology, GatherWithin within,
                                           const FileTargets& targets);

// The largest number up to `aggregators` that is a multiple of `targets` or a divisor of it.
[[nodiscard]] std::int64_t serving_alike(std::int64_t aggregators, std::int64_t targets);

}  // namespace weir::topology
