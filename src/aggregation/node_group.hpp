// The ranks of a node, its aggregators, and the memory that they share.
//
// Every aggregator owns one part of an MPI shared window: a control block per buffer, then the
// buffers. A buffer takes one piece of a file after the other. Protocol, with `ticket` a number
// that is different for each piece of each request and known to all who have a share of the piece:
//
//   aggregator   arrived := 0; open := ticket (release)
//   each sharer  waits for open == ticket (acquire); copies; arrived += elements (release)
//   aggregator   waits for arrived == all elements of the node (acquire); the buffer is its own
//
// Writing, the buffer is then full and goes to the file. Reading, the aggregator fills it before
// it opens it, and then it has been emptied. No lock, no message, no barrier.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/status.hpp"

namespace weir::aggregation {

// On cache lines of their own: sharers poll the one and change the other.
struct BufferControl {
  alignas(64) std::atomic<std::int64_t> open;
  alignas(64) std::atomic<std::int64_t> arrived;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

class NodeGroup {
 public:
  NodeGroup() = default;
  NodeGroup(const NodeGroup&) = delete;
  NodeGroup& operator=(const NodeGroup&) = delete;
  // Collective. When not all ranks of the node come until the deadline, their memory stays.
  ~NodeGroup();

  // Collective: finds the nodes of `world`, chooses `aggregators` of each (0: as many as it has
  // cores for, at most one per rank) and makes the shared buffers. When it fails on one rank,
  // others may have succeeded: agree on it, but for a missed deadline, after which nothing
  // collective may be called.
  Status create(MPI_Comm world, std::int64_t ranks_per_node, std::int64_t aggregators,
                std::int64_t buffers, std::int64_t buffer_bytes, double deadline_seconds);
  // After a missed deadline nothing collective may be called: gives everything up.
  void abandon();

  [[nodiscard]] int nodes() const { return nodes_; }
  // Aggregators of all nodes; they are numbered node by node.
  [[nodiscard]] std::int64_t aggregators() const {
    return static_cast<std::int64_t>(aggregator_ranks_.size());
  }
  [[nodiscard]] std::int64_t aggregators_per_node() const { return per_node_; }
  [[nodiscard]] int rank_of_aggregator(std::int64_t aggregator) const {
    return aggregator_ranks_[static_cast<std::size_t>(aggregator)];
  }
  // This rank's number among the aggregators, or -1.
  [[nodiscard]] std::int64_t own_aggregator() const { return own_aggregator_; }
  [[nodiscard]] bool is_on_node(std::int64_t rank) const;  // of the world
  [[nodiscard]] bool is_aggregator_on_node(std::int64_t aggregator) const {
    return aggregator >= first_on_node_ && aggregator < first_on_node_ + count_on_node_;
  }

  // Of an aggregator of this node.
  [[nodiscard]] BufferControl& control(std::int64_t aggregator, std::int64_t buffer) const;
  [[nodiscard]] std::byte* buffer(std::int64_t aggregator, std::int64_t buffer) const;
  // The last request in which an aggregator of the node failed: copying for it is in vain.
  [[nodiscard]] std::atomic<std::int64_t>& failed_request() const;

 private:
  struct Told;
  Status split_nodes(MPI_Comm world, std::int64_t ranks_per_node);
  Status place_aggregators(MPI_Comm world, std::int64_t aggregators, Told& told);
  Status tell_aggregators(MPI_Comm world, Told& told);
  Status make_window();
  void query_segments();
  Status split(MPI_Comm communicator, int color, int key, MPI_Comm& part) const;
  Status wait(MPI_Request& request) const;
  [[nodiscard]] std::int64_t header_bytes() const;

  MPI_Comm node_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  int nodes_ = 1;
  std::int64_t per_node_ = 1;
  std::int64_t buffers_ = 2;
  std::int64_t buffer_bytes_ = 0;
  double deadline_seconds_ = 0;
  std::vector<int> ranks_on_node_;     // of the world, ascending
  std::vector<int> aggregator_ranks_;  // of all nodes
  std::int64_t own_aggregator_ = -1;
  std::int64_t first_on_node_ = 0;
  std::int64_t count_on_node_ = 0;
  std::vector<std::byte*> segments_;  // of the node's aggregators
};

}  // namespace weir::aggregation
