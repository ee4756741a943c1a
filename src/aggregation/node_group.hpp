// The nodes of a communicator, and the memory that the ranks of a node share.
//
// The holders of a node (rank_layout.hpp) have buffers as long as the group exists. Each of them
// owns one part of the node's memory (node_memory.hpp): a control block per buffer, followed by the
// buffers. A buffer holds one piece of a file after the other. In the protocol, `ticket` is a
// number that differs for each piece of each request, and that all ranks with a share of the piece
// know:
//
//   aggregator   arrived := 0; expected := all bytes of the node; open := ticket (release)
//   each sharer  waits for open == ticket (acquire); copies; arrived += bytes (release)
//   aggregator   waits for arrived == expected (acquire); the buffer is its own; open := closed
//
// Data to or from other nodes are in slots for messages (message_slots.hpp). Each holder has as
// many slots as buffers in its part of the memory, or more if a node has few holders. With several
// nodes, the memory is therefore twice that of the buffers.
//
// After all bytes have arrived, no rank waits for the ticket any more, and no ticket remains in a
// closed buffer. Requests that are millions of requests apart may therefore have equal tickets.
//
// In a write, the buffer is then full and is written to the file. In a read, the aggregator fills
// the buffer before it opens it, and afterwards the buffer has been emptied. This needs no lock,
// message or barrier.
//
// A rank that has to wait sleeps until it is woken (wake_up.hpp), so that ranks that share a core
// leave it to those with work to do. A sharer sets its mark at the buffer for which it waits, and
// checks once more; the aggregator opens the buffer, and then wakes the ranks that set marks. The
// sharer that contributes the last expected bytes wakes the aggregator.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "aggregation/message_slots.hpp"
#include "aggregation/node_descriptors.hpp"
#include "aggregation/node_memory.hpp"
#include "aggregation/rank_layout.hpp"
#include "common/cache_line.hpp"
#include "common/status.hpp"
#include "ranks/channel.hpp"
#include "ranks/life_signs.hpp"
#include "ranks/messages.hpp"
#include "ranks/neighbour_links.hpp"
#include "ranks/revocation.hpp"
#include "ranks/splitting.hpp"
#include "ranks/waiting.hpp"
#include "ranks/wake_up.hpp"
#include "topology/network.hpp"
#include "topology/node_place.hpp"

namespace weir::aggregation {

// The members are on separate cache lines, since sharers poll `open` and change `arrived`.
struct BufferControl {
  alignas(cache_line_bytes) std::atomic<std::int64_t> open;
  std::atomic<std::int64_t> expected;
  alignas(cache_line_bytes) std::atomic<std::int64_t> arrived;
  // Bit i is set if a rank waits whose place on the node modulo 64 is i.
  alignas(cache_line_bytes) std::atomic<std::uint64_t> marks;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

class NodeGroup {
 public:
  NodeGroup() = default;
  NodeGroup(const NodeGroup&) = delete;
  NodeGroup& operator=(const NodeGroup&) = delete;
  ~NodeGroup();  // collective, since communicators are freed

  // Collective. Finds the nodes of `world`, divides them into I/O groups, and creates buffers for
  // `aggregators` ranks of each node, or for all ranks of a node that has fewer (0: as many as a
  // node has cores and ranks, up to 16). If `buffers` is 0, each holder has two buffers, or with
  // several nodes up to eight that take 16 MiB together. If a node has too little memory, the
  // buffers of all nodes are smaller: half of `buffer_bytes`, a quarter and so on, down to
  // least_buffer_bytes. If this fails on one rank, others may have succeeded: the ranks must then
  // agree on the outcome, except for an error that ends communication (ranks/messages.hpp), after
  // which nothing collective may be called. `world` must outlive the object. `opening` is revoked
  // if MPI fails here, and waits check it.
  Status create(MPI_Comm world, std::int64_t ranks_per_node, const RankLayout::Grouping& grouping,
                std::int64_t aggregators, std::int64_t buffers, std::int64_t buffer_bytes,
                double deadline_seconds, ranks::Revocation& opening);
  // Local, after create(). Adds the network to the topology; fails if the nodes do not fit.
  Status connect_by(const topology::Network& network) { return layout_.connect_by(network); }
  // Gives everything up after a missed deadline, when nothing collective may be called.
  void abandon();
  // Smaller buffers are created only on request.
  static constexpr std::int64_t least_buffer_bytes = 64 << 10;
  // Returns the size of each buffer: the requested size, in whole pages, or less.
  [[nodiscard]] std::int64_t buffer_bytes() const { return buffer_bytes_; }
  // Returns the number of buffers of each aggregator.
  [[nodiscard]] std::int64_t buffers() const { return buffers_; }

  // Return what the layout of the ranks says (rank_layout.hpp).
  [[nodiscard]] std::optional<topology::PlaceSource> groups_source() const {
    return layout_.groups_source();
  }
  [[nodiscard]] const topology::Topology& topology() const { return layout_.topology(); }
  [[nodiscard]] std::int64_t nodes() const { return topology().nodes(); }
  [[nodiscard]] std::int64_t holders_per_node() const { return layout_.holders_per_node(); }
  [[nodiscard]] std::int64_t holders() const { return layout_.holders(); }
  [[nodiscard]] std::int64_t cores_per_node() const { return layout_.cores_per_node(); }
  [[nodiscard]] bool is_on_node(std::int64_t rank) const { return layout_.is_on_node(rank); }
  [[nodiscard]] std::int64_t holder_at(std::int64_t rank) const { return layout_.holder_at(rank); }
  [[nodiscard]] std::int64_t own_holder() const { return layout_.own_holder(); }
  [[nodiscard]] std::int64_t own_place() const { return layout_.own_place(); }
  [[nodiscard]] std::int64_t places() const { return std::ssize(layout_.ranks_on_node()); }
  [[nodiscard]] int rank_at(std::int64_t place) const {
    return layout_.ranks_on_node()[static_cast<std::size_t>(place)];
  }
  // Returns a communicator of the ranks that lead the nodes, for collective operations that take
  // turns with agreements().
  [[nodiscard]] MPI_Comm leaders() const { return layout_.leaders(0); }

  // Return the buffers of a holder of this node, and their control words.
  [[nodiscard]] BufferControl& control(std::int64_t holder, std::int64_t buffer) const;
  [[nodiscard]] std::byte* buffer(std::int64_t holder, std::int64_t buffer) const;
  // Opens a buffer of this rank for the sharers of a piece.
  void open(std::int64_t buffer, std::int64_t ticket, std::int64_t expected) const;
  // Closes a buffer after all expected bytes have arrived.
  void close(std::int64_t buffer) const;
  // Adds a sharer's bytes.
  void arrive(std::int64_t holder, std::int64_t buffer, std::int64_t bytes) const;
  // Sets this rank's mark, so that it is woken when the buffer is opened the next time. Returns
  // false if the buffer is already open for `ticket`.
  [[nodiscard]] bool mark(std::int64_t holder, std::int64_t buffer, std::int64_t ticket) const;
  [[nodiscard]] ranks::WakeUp& own_wake_up() const { return wake_up(own_place()); }
  [[nodiscard]] std::int64_t ranks_per_core() const { return layout_.ranks_per_core(); }
  // Returns how long a rank of the node sleeps between two checks of MPI (waiting.hpp).
  [[nodiscard]] long nap_ns(std::int64_t naps_before) const {
    return ranks::nap_ns(layout_.ranks_per_core(), naps_before);
  }

  // Signs of life of the ranks of this node.
  [[nodiscard]] ranks::LifeSigns* life() const { return life_.get(); }

  // Returns the object that passes open files between the ranks of the node; null if the node has
  // only this rank.
  [[nodiscard]] NodeDescriptors* descriptors() const { return descriptors_.get(); }

  // Collective over the ranks of the node. Returns zeroed memory that they share, which is freed
  // when no rank uses it any more. If this fails on one rank, others may have succeeded: the ranks
  // must then agree on the outcome, except for an error that ends communication.
  [[nodiscard]] Result<std::shared_ptr<storage::SharedMemory>> share_more(std::int64_t bytes) const;

  // Returns the revocation, which ends all waiting when MPI fails on a rank.
  [[nodiscard]] ranks::Revocation& revocation() const { return *revocation_; }
  // The channels of the votes that open collective calls, and of all other votes. There are two,
  // since the vote that opens a request begins early on some ranks: when they make the call, while
  // earlier requests are under way.
  [[nodiscard]] ranks::Channel& openings() const { return *channels_[1]; }
  [[nodiscard]] ranks::Channel& agreements() const { return *channels_[0]; }

  // Returns the slots for messages between nodes; requires several nodes.
  [[nodiscard]] const MessageSlots& slots() const { return *slots_; }

  // The last request in which an aggregator of the node failed, so that copying for it is in vain.
  [[nodiscard]] std::atomic<std::int64_t>& failed_request() const;

 private:
  // Shares memory with the largest buffers for which all nodes have room.
  Status make_memory(MPI_Comm world);
  // Returns the offset of each holder's part, followed by the end of the memory.
  [[nodiscard]] std::vector<std::int64_t> part_offsets() const;
  // Creates the objects in the memory.
  Status fill_memory(std::optional<NodeSockets> sockets);
  // The ranks wait so long for each other while the group is created.
  [[nodiscard]] ranks::Meeting meeting() const;
  [[nodiscard]] std::int64_t header_bytes() const;
  // Returns the number of message slots in the part of each holder.
  [[nodiscard]] std::int64_t slots_per_holder() const;
  [[nodiscard]] std::int64_t slot_count() const {
    return slots_per_holder() * static_cast<std::int64_t>(layout_.own_holders().size());
  }
  void make_slots();
  [[nodiscard]] ranks::WakeUp& wake_up(std::int64_t place) const;
  void make_descriptors(NodeSockets sockets);
  void make_life_signs();
  void make_channels();
  // The slot board follows the channels in the first holder's part.
  [[nodiscard]] std::byte* slot_board() const;
  // Called by the leaders of several nodes: creates connections to the leaders of neighbouring
  // nodes.
  Status make_neighbour_links();
  void look_at_neighbours();
  // The descriptor board follows the wake-ups in the first holder's part.
  [[nodiscard]] std::byte* descriptor_memory() const;
  // The memory of channel `number`, in the first holder's part.
  [[nodiscard]] std::byte* channel_memory(std::size_t number) const;

  static constexpr std::size_t channel_count = RankLayout::leader_communicators;

  MPI_Comm world_ = MPI_COMM_NULL;  // not owned
  RankLayout layout_;
  std::optional<storage::SharedMemory> memory_;
  std::int64_t buffers_ = 2;
  std::int64_t buffer_bytes_ = 0;
  double deadline_seconds_ = 0;
  std::vector<std::byte*> segments_;  // of the holders
  std::unique_ptr<ranks::LifeSigns> life_;
  std::unique_ptr<NodeDescriptors> descriptors_;
  ranks::Revocation* opening_ = nullptr;  // while the group is created
  std::unique_ptr<ranks::Revocation> revocation_;
  std::array<std::unique_ptr<ranks::Channel>, channel_count> channels_;
  std::optional<MessageSlots> slots_;
  std::unique_ptr<ranks::NeighbourLinks> neighbours_;
  std::int64_t looked_at_neighbours_ns_ = 0;
};

}  // namespace weir::aggregation
