// The nodes of a communicator, and the memory that the ranks of a node share.
//
// Some ranks of every node hold buffers, for good, as many on each or all where a node has fewer:
// those that the placement of plans names (topology/aggregator_placement.hpp), whichever strategy
// asks. Every one of them owns one part of the node's memory (node_memory.hpp): a control block per
// buffer, then the buffers. A buffer takes one piece of a file after the other. Protocol, with
// `ticket` a number that is different for each piece of each request and known to all who have a
// share of the piece:
//
//   aggregator   arrived := 0; expected := all bytes of the node; open := ticket (release)
//   each sharer  waits for open == ticket (acquire); copies; arrived += bytes (release)
//   aggregator   waits for arrived == expected (acquire); the buffer is its own; open := closed
//
// What goes to other nodes, or comes from them, lies in slots for messages (message_slots.hpp), of
// which each holder has as many as buffers in its part of the memory, or more where a node has few.
// So where there are several nodes, the memory is twice that of the buffers.
//
// Nobody looks for a ticket any more when all bytes have arrived, and none stays in a closed
// buffer: so tickets of requests that are millions of requests apart may be alike.
//
// Writing, the buffer is then full and goes to the file. Reading, the aggregator fills it before
// it opens it, and then it has been emptied. No lock, no message, no barrier.
//
// A rank that has to wait sleeps until it is woken up (wake_up.hpp), so that ranks that share a
// core leave it to those that have something to do. A sharer leaves its mark at the buffer that it
// waits for, and looks once more; the aggregator opens the buffer, and then wakes up the ranks that
// left marks. The sharer whose bytes were the last ones expected wakes up the aggregator.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "aggregation/message_slots.hpp"
#include "aggregation/node_descriptors.hpp"
#include "aggregation/node_memory.hpp"
#include "common/cache_line.hpp"
#include "common/status.hpp"
#include "ranks/channel.hpp"
#include "ranks/life_signs.hpp"
#include "ranks/messages.hpp"
#include "ranks/neighbour_links.hpp"
#include "ranks/revocation.hpp"
#include "ranks/waiting.hpp"
#include "ranks/wake_up.hpp"
#include "topology/aggregator_placement.hpp"

namespace weir::aggregation {

// On cache lines of their own: sharers poll the one and change the other.
struct BufferControl {
  alignas(cache_line_bytes) std::atomic<std::int64_t> open;
  std::atomic<std::int64_t> expected;
  alignas(cache_line_bytes) std::atomic<std::int64_t> arrived;
  // Bit i: a rank waits whose place on the node is i modulo 64.
  alignas(cache_line_bytes) std::atomic<std::uint64_t> marks;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

class NodeGroup {
 public:
  NodeGroup() = default;
  NodeGroup(const NodeGroup&) = delete;
  NodeGroup& operator=(const NodeGroup&) = delete;
  ~NodeGroup();  // collective, as communicators are freed

  // Collective: finds the nodes of `world` and makes buffers for `aggregators` ranks of each, or
  // for all of a node that has fewer (0: as many as a node has cores and ranks, up to 16). Without
  // a number of `buffers` (0) each has two; where there are several nodes, up to eight that take
  // 16 MiB together. Where a node has too little memory, the buffers of all nodes are smaller: half
  // of `buffer_bytes`, a quarter and so on, down to least_buffer_bytes. When it fails on one rank,
  // others may have succeeded: agree on it, but for an error that ends communication
  // (ranks/messages.hpp), after which nothing collective may be called. `world` stays until this
  // object is gone. `opening`: revoked when MPI fails here, and looked at by waits.
  Status create(MPI_Comm world, std::int64_t ranks_per_node, std::int64_t aggregators,
                std::int64_t buffers, std::int64_t buffer_bytes, double deadline_seconds,
                ranks::Revocation& opening);
  // After a missed deadline nothing collective may be called: gives everything up.
  void abandon();
  // Smaller ones are made only when they are asked for.
  static constexpr std::int64_t least_buffer_bytes = 64 << 10;
  // The size of each buffer: what was asked for, in whole pages, or less.
  [[nodiscard]] std::int64_t buffer_bytes() const { return buffer_bytes_; }
  // How many buffers each aggregator has.
  [[nodiscard]] std::int64_t buffers() const { return buffers_; }

  // The topology of the ranks of `world`.
  [[nodiscard]] const topology::Topology& topology() const { return *topology_; }
  [[nodiscard]] std::int64_t nodes() const { return topology_->nodes(); }
  // The most of a node; a node of fewer ranks has one on each.
  [[nodiscard]] std::int64_t holders_per_node() const { return holders_per_node_; }
  // How many ranks hold buffers, on all nodes together.
  [[nodiscard]] std::int64_t holders() const;
  // Cores that the ranks of the node with the most of them may use together.
  [[nodiscard]] std::int64_t cores_per_node() const { return cores_per_node_; }
  [[nodiscard]] bool is_on_node(std::int64_t rank) const;
  // The number of a rank among the node's holders, from 0 on; -1 when the rank is none.
  [[nodiscard]] std::int64_t holder_at(std::int64_t rank) const;
  [[nodiscard]] std::int64_t own_holder() const { return own_holder_; }

  // The buffers of a holder of this node, and their control words.
  [[nodiscard]] BufferControl& control(std::int64_t holder, std::int64_t buffer) const;
  [[nodiscard]] std::byte* buffer(std::int64_t holder, std::int64_t buffer) const;
  // Opens a buffer of this rank for the sharers of a piece.
  void open(std::int64_t buffer, std::int64_t ticket, std::int64_t expected) const;
  // When all that was expected has arrived.
  void close(std::int64_t buffer) const;
  // Adds a sharer's bytes.
  void arrive(std::int64_t holder, std::int64_t buffer, std::int64_t bytes) const;
  // Leaves this rank's mark, so that it is woken up when the buffer is opened the next time; false
  // when it is open for `ticket` already.
  [[nodiscard]] bool mark(std::int64_t holder, std::int64_t buffer, std::int64_t ticket) const;
  [[nodiscard]] ranks::WakeUp& own_wake_up() const { return wake_up(own_place_); }
  // How long a rank of the node sleeps between two looks after MPI (waiting.hpp).
  [[nodiscard]] long nap_ns(std::int64_t naps_before) const {
    return ranks::nap_ns(ranks_per_core_, naps_before);
  }

  // Signs of life of the ranks of this node.
  [[nodiscard]] ranks::LifeSigns* life() const { return life_.get(); }

  // Passes open files between the ranks of the node; null: this rank is alone there.
  [[nodiscard]] NodeDescriptors* descriptors() const { return descriptors_.get(); }
  [[nodiscard]] int rank_at(std::int64_t place) const {
    return ranks_on_node_[static_cast<std::size_t>(place)];
  }

  // Collective over the ranks of the node: zeroed memory that they share, which goes when no rank
  // has it any more. When this fails on one rank, others may have got theirs: agree on it, but for
  // an error that ends communication.
  [[nodiscard]] Result<std::shared_ptr<storage::SharedMemory>> share_more(std::int64_t bytes) const;
  // This rank's place among the ranks of the node, and how many these are. Place 0 leads the node.
  [[nodiscard]] std::int64_t own_place() const { return own_place_; }
  [[nodiscard]] std::int64_t places() const {
    return static_cast<std::int64_t>(ranks_on_node_.size());
  }
  // The ranks that lead the nodes, for collective operations that take turns with agreements();
  // null on the others, and where there is one node.
  [[nodiscard]] MPI_Comm leaders() const { return leaders_[0]; }

  // What ends all waiting when MPI fails on a rank.
  [[nodiscard]] ranks::Revocation& revocation() const { return *revocation_; }
  // What collective calls begin and end with. Two, since what is begun early on the one must not
  // take the place of what has its turn on the other.
  [[nodiscard]] ranks::Channel& agreements() const { return *channels_[0]; }
  [[nodiscard]] ranks::Channel& comparisons() const { return *channels_[1]; }

  // For messages between nodes; there is more than one node.
  [[nodiscard]] const MessageSlots& slots() const { return *slots_; }

  // The last request in which an aggregator of the node failed: copying for it is in vain.
  [[nodiscard]] std::atomic<std::int64_t>& failed_request() const;

 private:
  struct Told;
  Status split_nodes(MPI_Comm world, std::int64_t ranks_per_node);
  Status count_holders(MPI_Comm world, std::int64_t aggregators, Told& told);
  // The first ranks of the nodes work it out and tell the others.
  Status tell_topology(MPI_Comm world, Told& told);
  Status find_holders(int rank);
  // Shares memory with the largest buffers that all nodes have room for.
  Status make_memory(MPI_Comm world);
  // Where each holder's part begins, and behind them all, where the memory ends.
  [[nodiscard]] std::vector<std::int64_t> part_offsets() const;
  // Makes what lies in the memory.
  Status fill_memory(std::optional<NodeSockets> sockets);
  Status split(MPI_Comm communicator, int color, int key, MPI_Comm& part) const;
  // Until what `begun` says was begun has ended.
  Status wait(const Status& begun, ranks::Pending& pending) const;
  [[nodiscard]] std::int64_t header_bytes() const;
  // Slots for messages in the part of each holder.
  [[nodiscard]] std::int64_t slots_per_holder() const;
  [[nodiscard]] std::int64_t slot_count() const {
    return slots_per_holder() * static_cast<std::int64_t>(holders_.size());
  }
  void make_slots();
  [[nodiscard]] std::int64_t place_of(int rank) const;
  [[nodiscard]] ranks::WakeUp& wake_up(std::int64_t place) const;
  void make_descriptors(NodeSockets sockets);
  void make_life_signs();
  void make_channels();
  // Behind the channels, in the first holder's part.
  [[nodiscard]] std::byte* slot_board() const;
  // By the leaders of several nodes: connections to the leaders of neighbouring nodes.
  Status make_neighbour_links();
  void look_at_neighbours();
  // Behind the wake-ups, in the first holder's part.
  [[nodiscard]] std::byte* descriptor_memory() const;
  // The memory of channel `number`, in the first holder's part.
  [[nodiscard]] std::byte* channel_memory(std::size_t number) const;

  static constexpr std::size_t channel_count = 2;

  MPI_Comm world_ = MPI_COMM_NULL;  // not owned
  MPI_Comm node_ = MPI_COMM_NULL;
  // On the first ranks of several nodes.
  std::array<MPI_Comm, channel_count> leaders_{MPI_COMM_NULL, MPI_COMM_NULL};
  std::optional<storage::SharedMemory> memory_;
  std::optional<topology::Topology> topology_;
  std::int64_t holders_per_node_ = 1;
  std::int64_t cores_per_node_ = 1;
  std::int64_t buffers_ = 2;
  std::int64_t buffer_bytes_ = 0;
  double deadline_seconds_ = 0;
  std::vector<int> ranks_on_node_;   // of the world, ascending
  std::int64_t ranks_per_core_ = 1;  // of the node, rounded up
  std::vector<int> holders_;         // of them, ascending
  std::int64_t own_holder_ = -1;
  std::int64_t own_place_ = 0;        // among the node's ranks
  std::vector<std::byte*> segments_;  // of the holders
  std::unique_ptr<ranks::LifeSigns> life_;
  std::unique_ptr<NodeDescriptors> descriptors_;
  ranks::Revocation* opening_ = nullptr;  // while this is made
  std::unique_ptr<ranks::Revocation> revocation_;
  std::array<std::unique_ptr<ranks::Channel>, channel_count> channels_;
  std::optional<MessageSlots> slots_;
  std::unique_ptr<ranks::NeighbourLinks> neighbours_;
  std::int64_t looked_at_neighbours_ns_ = 0;
};

}  // namespace weir::aggregation
