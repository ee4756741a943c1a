// The bytes on the links between the switches of a network, and which link has most. The links of
// the nodes themselves are left out, which are counted per node; those of a torus or a mesh are all
// links between switches, as every node there is one.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plan/plan.hpp"
#include "topology/topology.hpp"

namespace weir::plan {

class LinkLoads {
 public:
  // `topology` must outlive the object.
  explicit LinkLoads(const topology::Topology& topology) : topology_(&topology) {}

  // Adds the bytes that go from node to node to each link on the way. Without a network there is
  // none.
  void add(std::int64_t from, std::int64_t to, double bytes);
  // Returns the largest load of a link on the way from node to node, and of any link.
  [[nodiscard]] double largest_on(std::int64_t from, std::int64_t to);
  [[nodiscard]] double largest() const { return largest_; }

 private:
  void find_way(std::int64_t from, std::int64_t to);

  const topology::Topology* topology_;
  std::unordered_map<std::int64_t, double> bytes_of_link_;
  std::vector<std::int64_t> way_;
  double largest_ = 0;
};

// Returns which share of the bytes that aggregators of the plan's group gather from other nodes
// pass the busiest link between switches, by pieces of every aggregator. 0 if no such byte passes
// one, or if that is too much to look at.
[[nodiscard]] double share_of_busiest_link(const Plan& plan);

}  // namespace weir::plan
