// Which ranks aggregate: the same number in every group of nodes, spread over its nodes, so that
// each has links and memory of its own as far as there are nodes. A group gathers only from its own
// ranks: nothing crosses an I/O group.
#pragma once

#include <cstdint>

#include "common/status.hpp"
#include "topology/topology.hpp"

namespace weir::topology {

// Whose data an aggregator may gather.
enum class GatherWithin {
  node,      // by shared memory alone
  io_group,  // between the nodes of an I/O group; of all nodes where there is one group
};

class AggregatorPlacement {
 public:
  // `aggregators_per_group` of them; one per rank of a group that has fewer ranks; and where nodes
  // have unequally many ranks, at most as many per node as the smallest has. Fails on fewer than 1.
  static Result<AggregatorPlacement> create(const Topology& topology, GatherWithin within,
                                            std::int64_t aggregators_per_group);

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] GatherWithin within() const { return within_; }
  [[nodiscard]] std::int64_t groups() const;
  [[nodiscard]] std::int64_t group_of_rank(std::int64_t rank) const;
  [[nodiscard]] std::int64_t ranks_in(std::int64_t group) const;
  // The rank at `position` among those of a group, node after node.
  [[nodiscard]] std::int64_t rank_in(std::int64_t group, std::int64_t position) const;

  [[nodiscard]] std::int64_t aggregators_in(std::int64_t group) const;
  // The rank that is aggregator `number` of a group, 0 <= number < aggregators_in(group). No rank
  // is two of them.
  [[nodiscard]] std::int64_t rank_of(std::int64_t group, std::int64_t number) const;
  // Which aggregator of its group a rank is; -1 when it is none.
  [[nodiscard]] std::int64_t aggregator_at(std::int64_t rank) const;

  friend bool operator==(const AggregatorPlacement&, const AggregatorPlacement&) = default;

 private:
  AggregatorPlacement(const Topology& topology, GatherWithin within, std::int64_t per_group);
  [[nodiscard]] std::int64_t nodes_of(std::int64_t group) const;
  [[nodiscard]] std::int64_t node_at(std::int64_t group, std::int64_t position) const;

  Topology topology_;
  GatherWithin within_;
  std::int64_t per_group_;
};

// A number of aggregators for one group, where nothing better is known than where things are: one
// per node, but at least one per target where a group has the ranks, and then a multiple of the
// targets' number or a divisor of it, so that targets are served alike.
[[nodiscard]] std::int64_t aggregators_for(const Topology& topology, GatherWithin within,
                                           const FileTargets& targets);

}  // namespace weir::topology
