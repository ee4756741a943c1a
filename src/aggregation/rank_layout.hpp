// A rank layout says how the ranks of a communicator lie on nodes, and which of them have buffers.
//
// Some ranks of every node, the holders, have buffers. Their number is equal on all nodes; a node
// with fewer ranks has one holder per rank. They are the ranks that the placement of plans selects
// (topology/aggregator_placement.hpp), for every strategy.
//
// The first rank of a node leads it. Only the leaders gather a number per rank, and only while they
// compute the topology, a few stretches of numbers, which they send to the ranks of their nodes.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/status.hpp"
#include "ranks/splitting.hpp"
#include "topology/io_groups.hpp"
#include "topology/network.hpp"
#include "topology/node_place.hpp"
#include "topology/topology.hpp"

namespace weir::aggregation {

class RankLayout {
 public:
  // The I/O groups: as they are given, or as the nodes' places in the network say, of which each
  // rank knows its own node's.
  struct Grouping {
    topology::IoGroups given;
    std::optional<topology::NodePlaces> own_places;  // nothing: the given ones count
  };
  // Number of communicators of the leaders.
  static constexpr std::size_t leader_communicators = 2;

  // Collective, once. Finds the nodes of `world`, divides them into I/O groups, and selects
  // `aggregators` holders on each node (0: as many as a node has cores and ranks, up to 16). If
  // this fails on one rank, others may have succeeded, except for an error that ends communication
  // (ranks/messages.hpp).
  Status find(MPI_Comm world, std::int64_t ranks_per_node, const Grouping& grouping,
              std::int64_t aggregators, const ranks::Meeting& meeting);
  // Local, after find(). Adds the network to the topology; fails if the nodes do not fit.
  Status connect_by(const topology::Network& network);
  // Collective: frees the communicators when all messages have ended.
  void free_communicators();
  // Forgets the communicators after a missed deadline, when nothing collective may be called.
  void abandon();

  // Returns a communicator of the ranks of this node, in their order.
  [[nodiscard]] MPI_Comm node() const { return node_; }
  // Returns a communicator of the ranks that lead the nodes. It is null on the other ranks, and if
  // there is only one node.
  [[nodiscard]] MPI_Comm leaders(std::size_t number) const { return leaders_.at(number); }
  // Returns the topology of the ranks of `world`, with the I/O groups.
  [[nodiscard]] const topology::Topology& topology() const { return *topology_; }
  // Returns what told the nodes' places in the network that made the I/O groups, if any did.
  [[nodiscard]] std::optional<topology::PlaceSource> groups_source() const {
    return groups_source_;
  }
  // Returns the largest number of holders on a node.
  [[nodiscard]] std::int64_t holders_per_node() const { return holders_per_node_; }
  // Returns the number of holders on all nodes together.
  [[nodiscard]] std::int64_t holders() const;
  // Returns the holders of this node, ascending.
  [[nodiscard]] const std::vector<int>& own_holders() const { return holders_; }
  // Returns the number of a rank among the node's holders, from 0; -1 if it is not a holder.
  [[nodiscard]] std::int64_t holder_at(std::int64_t rank) const;
  // Returns the number of this rank among them.
  [[nodiscard]] std::int64_t own_holder() const { return own_holder_; }
  // Returns the largest number, over all nodes, of cores that a node's ranks may use together.
  [[nodiscard]] std::int64_t cores_per_node() const { return cores_per_node_; }
  // Returns how many ranks of this node share a core, rounded up.
  [[nodiscard]] std::int64_t ranks_per_core() const { return ranks_per_core_; }
  // Returns the ranks of this node, ascending. A rank's position among them is its place; place 0
  // leads the node.
  [[nodiscard]] const std::vector<int>& ranks_on_node() const { return ranks_on_node_; }
  [[nodiscard]] bool is_on_node(std::int64_t rank) const;
  [[nodiscard]] std::int64_t place_of(int rank) const;
  [[nodiscard]] std::int64_t own_place() const { return own_place_; }

 private:
  struct Told;
  Status count_holders(MPI_Comm world, std::int64_t aggregators, const ranks::Meeting& meeting,
                       Told& told);
  // Lets the leaders compute the topology, without I/O groups, and send it to the others.
  Status tell_topology(MPI_Comm world, const ranks::Meeting& meeting, Told& told);
  // Called by the leaders: sets told.groups by the places of all nodes.
  static Status gather_places(const ranks::Meeting& meeting, Told& told);
  // Sends told.groups from the leader of the node to its other ranks, and divides the nodes.
  Status divide_by_places(const ranks::Meeting& meeting, Told& told);
  Status find_holders(int rank);

  MPI_Comm node_ = MPI_COMM_NULL;
  // Not null only on the leaders of several nodes.
  std::array<MPI_Comm, leader_communicators> leaders_{MPI_COMM_NULL, MPI_COMM_NULL};
  std::optional<topology::Topology> topology_;
  std::optional<topology::PlaceSource> groups_source_;
  std::int64_t holders_per_node_ = 1;
  std::int64_t cores_per_node_ = 1;
  std::int64_t ranks_per_core_ = 1;
  std::vector<int> ranks_on_node_;  // of the world
  std::vector<int> holders_;        // some of `ranks_on_node_`
  std::int64_t own_holder_ = -1;
  std::int64_t own_place_ = 0;
};

}  // namespace weir::aggregation
