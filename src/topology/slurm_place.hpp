// Where a node is in the network, as Slurm tells each task in two variables:
//
//     SLURM_TOPOLOGY_ADDR=root.s2.s0.tux0
//     SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.switch.node
//
// The nodes below the same leaf switch, or in the same block, become an I/O group. Nodes are
// compared by numbers made of the texts, so that each node tells the others the same few bytes.
// python/weir/platform/discovery/slurm.py reads the same variables for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "topology/io_groups.hpp"

namespace weir::topology {

struct SlurmPlace {
  std::uint64_t node = 0;  // of the whole address; 0: it is not known
  std::uint64_t leaf = 0;  // of the switches above the node

  friend bool operator==(const SlurmPlace&, const SlurmPlace&) = default;
};

// Returns nothing known if the address does not have the pattern's parts, or has no switch. Names
// of nodes may have dots, so the pattern says into how many parts the address is split.
[[nodiscard]] SlurmPlace slurm_place(std::string_view address, std::string_view pattern);

// Returns the groups of nodes below the same leaf switches. Nothing if a node's place is not known,
// if two nodes have the same one (the launcher has passed one node's variables on to others), or
// if the groups would be all nodes or single ones.
[[nodiscard]] std::optional<IoGroups> groups_by_leaf(std::span<const SlurmPlace> nodes);

}  // namespace weir::topology
