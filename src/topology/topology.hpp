// The topology of a job as a value: the node of each rank and the I/O group of each node.
//
// Launchers place ranks regularly, so a topology consists of a few stretches of ranks instead of a
// table:
//
//     a stretch   ranks first_rank + i, 0 <= i < ranks, on node first_node + (i / block) mod nodes
//
// With block = ranks per node, this fills node after node; with block = 1, it places ranks on nodes
// round-robin. Ranks in no such order form one stretch per run of ranks on the same node.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/status.hpp"

namespace weir::topology {

class Network;

// The layout of a file on its storage. If nothing is known, it has one target and no stripes.
struct FileTargets {
  std::int64_t count = 1;         // OSTs, NSDs, bricks or disks that hold parts of the file
  std::int64_t stripe_bytes = 0;  // contiguous bytes on one target; 0 if there are no stripes
  std::int64_t lock_bytes = 0;  // bytes that one writer at a time may lock; 0 if nothing is locked
  // True if each node sees what other nodes have written, and writes only its own bytes. Otherwise
  // (NFS and similar systems) nodes keep outdated pages and write whole pages.
  bool coherent_caches = true;

  friend bool operator==(const FileTargets&, const FileTargets&) = default;
};

struct Stretch {
  std::int64_t ranks = 0;
  std::int64_t first_node = 0;
  std::int64_t nodes = 1;
  std::int64_t block = 1;

  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// Immutable, and cheap to copy. Ranks and nodes are numbered from 0 without gaps, and every node
// has at least one rank.
class Topology {
 public:
  // Places all ranks on one node, in one I/O group.
  static Result<Topology> single_node(std::int64_t ranks);
  // Fills node after node with `ranks_per_node` ranks; the last node may have fewer.
  static Result<Topology> filled(std::int64_t ranks, std::int64_t ranks_per_node);
  // Distributes ranks to nodes round-robin. Fails if there are more nodes than ranks.
  static Result<Topology> round_robin(std::int64_t ranks, std::int64_t nodes);
  // Builds a topology from stretches for consecutive ranks, starting at rank 0. Fails if a node has
  // no rank or a number is out of range.
  static Result<Topology> of_stretches(std::span<const Stretch> stretches);
  // Builds a topology from the node of each rank. Nodes can have any numbers; they are renumbered
  // in the order of their first ranks. A regular placement is kept as one stretch. Fails if there
  // is no rank.
  static Result<Topology> of_nodes(std::span<const std::int64_t> node_of_rank);

  // Returns this topology with its nodes divided into I/O groups, each of `nodes_per_group`
  // consecutive nodes; the nodes of an I/O group share a path to the storage. Fails if
  // `nodes_per_group` is less than 1.
  [[nodiscard]] Result<Topology> with_io_groups(std::int64_t nodes_per_group) const;
  // Returns this topology with the given group for each node. Groups are numbered from 0 without
  // gaps.
  [[nodiscard]] Result<Topology> with_io_groups(std::span<const std::int64_t> group_of_node) const;
  // Returns this topology with the network between its nodes (network.hpp). Fails if the network
  // has no place for some of them.
  [[nodiscard]] Result<Topology> with_network(const Network& network) const;

  [[nodiscard]] std::int64_t ranks() const { return ranks_; }
  [[nodiscard]] std::int64_t nodes() const { return nodes_; }
  [[nodiscard]] std::int64_t io_groups() const { return groups_; }
  [[nodiscard]] const std::vector<Stretch>& stretches() const { return tables_->stretches; }

  [[nodiscard]] std::int64_t node_of(std::int64_t rank) const;
  [[nodiscard]] std::int64_t ranks_on(std::int64_t node) const;
  // Returns the rank at `position` among the ranks of a node in ascending order, 0 <= position <
  // ranks_on(node).
  [[nodiscard]] std::int64_t rank_on(std::int64_t node, std::int64_t position) const;
  // Returns the number of ranks on the node that has the fewest.
  [[nodiscard]] std::int64_t fewest_ranks_on_a_node() const { return fewest_on_a_node_; }
  // Inverse of rank_on(): returns how many ranks of the same node are below `rank`.
  [[nodiscard]] std::int64_t position_on_node(std::int64_t rank) const;

  [[nodiscard]] std::int64_t io_group_of_node(std::int64_t node) const;
  [[nodiscard]] std::int64_t nodes_in_group(std::int64_t group) const;
  // Returns the node at `position` among the nodes of a group in ascending order.
  [[nodiscard]] std::int64_t node_in_group(std::int64_t group, std::int64_t position) const;
  // Inverse of node_in_group(): returns how many nodes of the same group are below `node`.
  [[nodiscard]] std::int64_t position_in_group(std::int64_t node) const;

  // Returns the network between the nodes; null if it is not known. Each node is then one hop from
  // every other one.
  [[nodiscard]] const Network* network() const { return network_.get(); }

  // Equal topologies compare equal whether or not they share their tables.
  friend bool operator==(const Topology& a, const Topology& b);

 private:
  // The tables that grow with the number of stretches of an irregular launch. Copies of a topology
  // share them, since every cached plan holds a topology.
  struct Tables {
    std::vector<Stretch> stretches;
    std::vector<std::int64_t> first_rank;  // per stretch
    // The stretches that node n has ranks of are stretch_of[first_of_node[n]] …; both tables are
    // empty if there is only one stretch.
    std::vector<std::int64_t> first_of_node;
    std::vector<std::int64_t> stretch_of;
    std::vector<std::int64_t> group_of_node;
    std::vector<std::int64_t> first_in_group;  // indices into nodes_by_group
    std::vector<std::int64_t> nodes_by_group;

    friend bool operator==(const Tables&, const Tables&) = default;
  };

  Topology() = default;
  static void index_nodes(Tables& tables, std::int64_t nodes);
  [[nodiscard]] std::size_t stretch_with(std::int64_t rank) const;

  std::int64_t ranks_ = 0;
  std::int64_t nodes_ = 0;
  std::int64_t groups_ = 1;
  std::int64_t fewest_on_a_node_ = 0;
  std::int64_t nodes_per_group_ = 0;  // 0 if Tables::group_of_node gives the groups
  std::shared_ptr<const Tables> tables_;
  std::shared_ptr<const Network> network_;
};

}  // namespace weir::topology
