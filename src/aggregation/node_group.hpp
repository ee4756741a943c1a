// The nodes of a communicator, and the memory that the ranks of a node share.
//
// Some ranks of every node, the holders, have buffers as long as the group exists. Their number is
// equal on all nodes; a node with fewer ranks has one holder per rank. They are the ranks that the
// placement of plans selects (topology/aggregator_placement.hpp), for every strategy. Each holder
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
#include "topology/io_groups.hpp"
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

  // The I/O groups: as they are given, or as the nodes' places in the network say, of which each
  // rank knows its own node's.
  struct Grouping {
    topology::IoGroups given;
    std::optional<topology::NodePlaces> own_places;  // nothing: the given ones count
  };

  // Collective. Finds the nodes of `world`, divides them into I/O groups, and creates buffers for
  // `aggregators` ranks of each node, or for all ranks of a node that has fewer (0: as many as a
  // node has cores and ranks, up to 16). If `buffers` is 0, each holder has two buffers, or with
  // several nodes up to eight that take 16 MiB together. If a node has too little memory, the
  // buffers of all nodes are smaller: half of `buffer_bytes`, a quarter and so on, down to
  // least_buffer_bytes. If this fails on one rank, others may have succeeded: the ranks must then
  // agree on the outcome, except for an error that ends communication (ranks/messages.hpp), after
  // which nothing collective may be called. `world` must outlive the object. `opening` is revoked
  // if MPI fails here, and waits check it.
  Status create(MPI_Comm world, std::int64_t ranks_per_node, const Grouping& grouping,
                std::int64_t aggregators, std::int64_t buffers, std::int64_t buffer_bytes,
                double deadline_seconds, ranks::Revocation& opening);
  // Local, after create(). Adds the network to the topology; fails if the nodes do not fit.
  Status connect_by(const topology::Network& network);
  // Gives everything up after a missed deadline, when nothing collective may be called.
  void abandon();
  // Smaller buffers are created only on request.
  static constexpr std::int64_t least_buffer_bytes = 64 << 10;
  // Returns the size of each buffer: the requested size, in whole pages, or less.
  [[nodiscard]] std::int64_t buffer_bytes() const { return buffer_bytes_; }
  // Returns the number of buffers of each aggregator.
  [[nodiscard]] std::int64_t buffers() const { return buffers_; }

  // Returns what told the nodes' places in the network that made the I/O groups, if any did.
  [[nodiscard]] std::optional<topology::PlaceSource> groups_source() const {
    return groups_source_;
  }
  // Returns the topology of the ranks of `world`, with the I/O groups.
  [[nodiscard]] const topology::Topology& topology() const { return *topology_; }
  [[nodiscard]] std::int64_t nodes() const { return topology_->nodes(); }
  // Returns the largest number of holders on a node; on a node with fewer ranks, each rank is a
  // holder.
  [[nodiscard]] std::int64_t holders_per_node() const { return holders_per_node_; }
  // Returns the number of holders on all nodes together.
  [[nodiscard]] std::int64_t holders() const;
  // Returns the largest number, over all nodes, of cores that a node's ranks may use together.
  [[nodiscard]] std::int64_t cores_per_node() const { return cores_per_node_; }
  [[nodiscard]] bool is_on_node(std::int64_t rank) const;
  // Returns the number of a rank among the node's holders, from 0; -1 if it is not a holder.
  [[nodiscard]] std::int64_t holder_at(std::int64_t rank) const;
  [[nodiscard]] std::int64_t own_holder() const { return own_holder_; }

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
  [[nodiscard]] ranks::WakeUp& own_wake_up() const { return wake_up(own_place_); }
  // Returns how long a rank of the node sleeps between two checks of MPI (waiting.hpp).
  [[nodiscard]] long nap_ns(std::int64_t naps_before) const {
    return ranks::nap_ns(ranks_per_core_, naps_before);
  }

  // Signs of life of the ranks of this node.
  [[nodiscard]] ranks::LifeSigns* life() const { return life_.get(); }

  // Returns the object that passes open files between the ranks of the node; null if the node has
  // only this rank.
  [[nodiscard]] NodeDescriptors* descriptors() const { return descriptors_.get(); }
  [[nodiscard]] int rank_at(std::int64_t place) const {
    return ranks_on_node_[static_cast<std::size_t>(place)];
  }

  // Collective over the ranks of the node. Returns zeroed memory that they share, which is freed
  // when no rank uses it any more. If this fails on one rank, others may have succeeded: the ranks
  // must then agree on the outcome, except for an error that ends communication.
  [[nodiscard]] Result<std::shared_ptr<storage::SharedMemory>> share_more(std::int64_t bytes) const;
  // Returns this rank's place among the ranks of the node. Place 0 leads the node; places() is the
  // number of places.
  [[nodiscard]] std::int64_t own_place() const { return own_place_; }
  [[nodiscard]] std::int64_t places() const {
    return static_cast<std::int64_t>(ranks_on_node_.size());
  }
  // Returns a communicator of the ranks that lead the nodes, for collective operations that take
  // turns with agreements(). It is null on the other ranks, and if there is only one node.
  [[nodiscard]] MPI_Comm leaders() const { return leaders_[0]; }

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
  struct Told;
  Status split_nodes(MPI_Comm world, std::int64_t ranks_per_node);
  Status count_holders(MPI_Comm world, std::int64_t aggregators, Told& told);
  // Lets the first ranks of the nodes compute the topology, without I/O groups, and send it to the
  // others.
  Status tell_topology(MPI_Comm world, Told& told);
  // Called by the first ranks of the nodes: sets told.groups by the places of all nodes.
  Status gather_places(Told& told) const;
  // Sends told.groups from the first rank of the node to its others, and divides the nodes.
  Status divide_by_places(Told& told);
  Status find_holders(int rank);
  // Shares memory with the largest buffers for which all nodes have room.
  Status make_memory(MPI_Comm world);
  // Returns the offset of each holder's part, followed by the end of the memory.
  [[nodiscard]] std::vector<std::int64_t> part_offsets() const;
  // Creates the objects in the memory.
  Status fill_memory(std::optional<NodeSockets> sockets);
  Status split(MPI_Comm communicator, int color, int key, MPI_Comm& part) const;
  // Waits until the operation has ended; `begun` is the outcome of beginning it.
  Status wait(const Status& begun, ranks::Pending& pending) const;
  [[nodiscard]] std::int64_t header_bytes() const;
  // Returns the number of message slots in the part of each holder.
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

  static constexpr std::size_t channel_count = 2;

  MPI_Comm world_ = MPI_COMM_NULL;  // not owned
  MPI_Comm node_ = MPI_COMM_NULL;
  // Not null only on the first ranks of several nodes.
  std::array<MPI_Comm, channel_count> leaders_{MPI_COMM_NULL, MPI_COMM_NULL};
  std::optional<storage::SharedMemory> memory_;
  std::optional<topology::Topology> topology_;
  std::optional<topology::PlaceSource> groups_source_;
  std::int64_t holders_per_node_ = 1;
  std::int64_t cores_per_node_ = 1;
  std::int64_t buffers_ = 2;
  std::int64_t buffer_bytes_ = 0;
  double deadline_seconds_ = 0;
  std::vector<int> ranks_on_node_;   // of the world, ascending
  std::int64_t ranks_per_core_ = 1;  // of the node, rounded up
  std::vector<int> holders_;         // some of `ranks_on_node_`, ascending
  std::int64_t own_holder_ = -1;
  std::int64_t own_place_ = 0;        // among the node's ranks
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
