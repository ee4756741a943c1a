// What is where, as a value: the node of each rank and the I/O group of each node.
//
// Launchers place ranks regularly, so a topology is a few stretches of ranks and not a table:
//
//     a stretch   ranks first_rank + i, 0 <= i < ranks, on node first_node + (i / block) mod nodes
//
// With block = ranks per node, that is filling node after node; with block = 1, placing
// ranks on nodes round-robin. What is in no such order is one stretch per run of ranks on one node.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/status.hpp"

namespace weir::topology {

// How a file lies on the storage behind it. One target and no stripes where nothing is known.
struct FileTargets {
  std::int64_t count = 1;         // OSTs, NSDs, bricks, disks that hold parts of the file
  std::int64_t stripe_bytes = 0;  // contiguous bytes on one of them; 0 when there are no stripes
  std::int64_t lock_bytes = 0;    // what one writer at a time may hold; 0 when nothing is locked
  // Each node sees what others have written, and writes no bytes besides its own. Otherwise (NFS
  // and its kind) nodes keep pages that are out of date and write whole ones.
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

// Immutable, and cheap to copy. Ranks and nodes are numbered from 0 without gaps; every node has a
// rank.
class Topology {
 public:
  // All ranks on one node, one I/O group.
  static Result<Topology> single_node(std::int64_t ranks);
  // Node after node filled with `ranks_per_node` ranks (the last one perhaps with fewer).
  static Result<Topology> filled(std::int64_t ranks, std::int64_t ranks_per_node);
  // Ranks distributed to nodes round-robin. Fails on more nodes than ranks.
  static Result<Topology> round_robin(std::int64_t ranks, std::int64_t nodes);
  // Stretches for consecutive ranks, from 0 on. Fails when a node has no rank or a number is out of
  // range.
  static Result<Topology> of_stretches(std::span<const Stretch> stretches);
  // From the node of each rank, by any numbers: nodes are numbered anew in the order of their first
  // ranks. Kept as one stretch where regular. Fails on no rank.
  static Result<Topology> of_nodes(std::span<const std::int64_t> node_of_rank);

  // This topology with its nodes in I/O groups, which share a way to the storage: `nodes`
  // consecutive nodes each. Fails on fewer than 1.
  [[nodiscard]] Result<Topology> with_io_groups(std::int64_t nodes_per_group) const;
  // This topology with the group of each node given; groups are numbered from 0 without gaps.
  [[nodiscard]] Result<Topology> with_io_groups(std::span<const std::int64_t> group_of_node) const;

  [[nodiscard]] std::int64_t ranks() const { return ranks_; }
  [[nodiscard]] std::int64_t nodes() const { return nodes_; }
  [[nodiscard]] std::int64_t io_groups() const { return groups_; }
  [[nodiscard]] const std::vector<Stretch>& stretches() const { return tables_->stretches; }

  [[nodiscard]] std::int64_t node_of(std::int64_t rank) const;
  [[nodiscard]] std::int64_t ranks_on(std::int64_t node) const;
  // The rank at `position` among those of a node, ascending; 0 <= position < ranks_on(node).
  [[nodiscard]] std::int64_t rank_on(std::int64_t node, std::int64_t position) const;
  // The number of ranks on the node that has the fewest.
  [[nodiscard]] std::int64_t fewest_ranks_on_a_node() const { return fewest_on_a_node_; }
  // The inverse of rank_on(): how many ranks of its node are below `rank`.
  [[nodiscard]] std::int64_t position_on_node(std::int64_t rank) const;

  [[nodiscard]] std::int64_t io_group_of_node(std::int64_t node) const;
  [[nodiscard]] std::int64_t nodes_in_group(std::int64_t group) const;
  // The node at `position` among those of a group, ascending.
  [[nodiscard]] std::int64_t node_in_group(std::int64_t group, std::int64_t position) const;
  // The inverse: how many nodes of its group are below `node`.
  [[nodiscard]] std::int64_t position_in_group(std::int64_t node) const;

  // Equal ones are equal whether they share their tables or not.
  friend bool operator==(const Topology& a, const Topology& b);

 private:
  // What grows with the stretches of an irregular launch. Copies of a topology share it, since
  // every plan that is kept has one.
  struct Tables {
    std::vector<Stretch> stretches;
    std::vector<std::int64_t> first_rank;  // per stretch
    // The stretches that a node has ranks of: stretch_of[first_of_node[n]] …; empty with one
    // stretch.
    std::vector<std::int64_t> first_of_node;
    std::vector<std::int64_t> stretch_of;
    std::vector<std::int64_t> group_of_node;
    std::vector<std::int64_t> first_in_group;  // into nodes_by_group
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
  std::int64_t nodes_per_group_ = 0;  // 0 when groups are given by Tables::group_of_node
  std::shared_ptr<const Tables> tables_;
};

}  // namespace weir::topology
