// What a request moves on a machine, as operations of clients: the plan's own pieces, with the
// messages that fill each piece, in the order in which the library works on them.
//
// clang-format off
//     client      an aggregator; with Strategy::direct, a rank
//     operation   one piece: messages from other nodes to the client's node, then calls on the file;
//                 with Strategy::direct, a rank's part of a piece, whose calls follow each other
// clang-format on
//
// The messages of a piece between the same two nodes are merged to one flow. If there are very
// many, so are those of all nodes of a switch, or of all nodes; their number and bytes are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "common/status.hpp"
#include "plan/parameters.hpp"
#include "plan/platform_rates.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace weir::sim {

// Bytes that go to, or come from, one of several places.
struct Share {
  std::int64_t place = 0;
  std::int64_t bytes = 0;
  // The first of the node's ranks that has a share of its message to or from a client.
  std::int64_t rank = 0;

  friend bool operator==(const Share&, const Share&) = default;
};

// A copy by a rank, into the memory of its node that ranks share, or out of it.
struct Copy {
  std::int64_t rank = 0;
  std::int64_t node = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const Copy&, const Copy&) = default;
};

struct Operation {
  std::int64_t bytes = 0;          // of the file, with the holes that a read moves along
  std::int64_t calls = 0;          // ranges of the file, each of which is a call
  std::int64_t messages = 0;       // between the client's node and other nodes
  std::int64_t message_bytes = 0;  // of those
  std::int64_t turn = 0;           // of plan::BufferTurns; 0 with Strategy::direct
  // The client's shares of this operation begin here: first `sources`, as Flows::sources says, then
  // `targets`, by target of the file.
  std::size_t first_share = 0;
  std::uint32_t sources = 0;
  std::uint32_t targets = 0;
  std::uint32_t copies = 0;
  std::size_t first_copy = 0;  // in the client's copies

  friend bool operator==(const Operation&, const Operation&) = default;
};

struct Client {
  std::int64_t rank = 0;
  std::int64_t node = 0;
  std::int64_t group = 0;  // I/O group of the node
  // The client's turn when something is assigned: to the first client of every I/O group, then to
  // the second of every one, and so on. Clients of one number work at about the same time, so they
  // should not get the same.
  std::int64_t turn = 0;
  std::vector<Operation> operations;
  std::vector<Share> shares;
  std::vector<Copy> copies;

  [[nodiscard]] std::span<const Copy> copies_of(const Operation& one) const {
    return std::span(copies).subspan(one.first_copy, one.copies);
  }
  [[nodiscard]] std::span<const Share> sources(const Operation& one) const {
    return std::span(shares).subspan(one.first_share, one.sources);
  }
  [[nodiscard]] std::span<const Share> targets(const Operation& one) const {
    return std::span(shares).subspan(one.first_share + one.sources, one.targets);
  }
};

// What a place of sources is. What a client sends in a read has them as well.
enum class Sources {
  nodes,
  switches,   // of the topology's network, with that of the client
  io_groups,  // of an exchange between them
  none,       // the operations have the sum
};

struct Flows {
  std::vector<Client> clients;  // those with operations
  // What storage is asked for at a time: a piece, or with Strategy::direct each call of one.
  std::int64_t operations = 0;
  std::int64_t calls = 0;
  std::int64_t messages = 0;
  std::int64_t message_bytes = 0;
  std::int64_t bytes = 0;        // of the request
  std::int64_t bytes_moved = 0;  // of the operations
  Sources sources = Sources::nodes;
  std::int64_t buffers = 2;  // of a client, each of a piece
  // Messages that a node with clients has under way at a time.
  std::int64_t slots = 0;
};

struct FlowRules {
  std::int64_t targets = 0;       // places of the file's stripes; 0: they are not asked for
  std::int64_t stripe_bytes = 0;  // 0: the whole file is on place 0
  // Above 0: all ranks are one group, as in MPI-IO on Blue Gene/P. The aggregators are on the first
  // so many nodes of each I/O group, and follow each other from I/O group to I/O group.
  std::int64_t aggregators_on_first_nodes = 0;
  // With more messages, their sources are switches if the topology has a network, else none. Each
  // message is a flow, and flows that share senders and receivers are coupled.
  std::int64_t most_messages_by_node = std::int64_t{1} << 17;
  bool with_copies = false;  // the flows have the copies of each rank
  std::int64_t most_copies = std::int64_t{1} << 20;
  plan::PlatformRates rates = {};  // decide which holes a read moves along
  std::int64_t most_operations = std::int64_t{1} << 22;
  // Each client is an actor with a stack of 32 KiB in the simulation: 8 GiB.
  std::int64_t most_clients = std::int64_t{1} << 18;
};

// Bytes by the targets that they are on.
using TargetBytes = std::map<std::int64_t, std::int64_t>;
// Adds the bytes of a range of a file whose stripes are distributed round-robin to `targets`;
// nothing if there are no targets.
void add_to_targets(std::int64_t offset, std::int64_t bytes, std::int64_t targets,
                    std::int64_t stripe_bytes, TargetBytes& on_targets);

// Fails if Plan::create does, or if there are more clients, operations, copies or extents than are
// allowed.
[[nodiscard]] Result<Flows> flows_of_plan(const plan::Request& request,
                                          const topology::Topology& topology,
                                          plan::Parameters parameters, const FlowRules& rules);

}  // namespace weir::sim
