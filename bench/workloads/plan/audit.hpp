// Determines from its plans what a request would do to a large machine: messages, bytes, which
// nodes write to which storage target, how many network cards receive at a time, and how much data
// waits in the memory of a slow aggregator. The audit uses no MPI, no files and no clock, so that
// machines of any size can be examined on one core.
//
// Only a sample of the pieces is examined (AuditLimits), because a plan may have millions of them.
// Numbers of pieces are exact; figures marked "sampled" are based on the sample. The work is
// proportional to aggregators × limits.pieces for the destinations of bytes, to
// limits.shared_pieces × ranks for messages, and to limits.messages for the order of arrivals: a
// few seconds for 16,384 ranks.
#pragma once

#include <cstdint>

#include "common/status.hpp"
#include "plan/parameters.hpp"
#include "plan/rank_pieces.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace weir::bench::plan_audit {

struct AuditLimits {
  std::int64_t pieces = 192;        // per aggregator, examined for the targets that it uses
  std::int64_t shared_pieces = 24;  // in total, examined for their contributors
  std::int64_t steps = 2;           // steps whose messages are simulated
  std::int64_t messages = 1 << 20;  // limit for simulated messages, with at least one rank per node
  // Limits on how far a node may be ahead of aggregators (rank_pieces.hpp); pieces_ahead 0: no
  // limit.
  std::int64_t under_way = plan::least_messages_under_way;
  std::int64_t pieces_ahead = plan::most_pieces_ahead;
  std::int64_t contributions = 1 << 20;  // examined for the routes of bytes
};

struct Spread {
  double least = 0;
  double mean = 0;
  double most = 0;

  void add(double value);

 private:
  std::int64_t count_ = 0;
};

struct PlanAudit {
  plan::Parameters parameters;
  std::int64_t nodes = 0;
  std::int64_t targets = 0;
  std::int64_t aggregators = 0;        // in all groups; with direct, the number of ranks
  std::int64_t aggregating_nodes = 0;  // nodes that have an aggregator
  std::int64_t pieces = 0;             // of all aggregators together
  Spread pieces_per_aggregator;
  // Requested bytes, sampled.
  Spread bytes_per_aggregator;
  Spread bytes_per_node;    // over the nodes that have aggregators
  Spread bytes_per_target;  // over the targets that are used
  // Number of nodes that write to or read from one target. It is a lower bound if an aggregator has
  // more pieces than were examined.
  Spread client_nodes_per_target;
  // Messages between nodes, sampled. The data of a piece from all ranks of a node form one message.
  Spread messages_per_piece;
  Spread nodes_per_piece;    // nodes other than the aggregator's that have a share of a piece
  Spread bytes_per_message;  // mean of each sampled piece
  double messages = 0;       // of the whole request
  // Bytes of the whole request that messages take from one I/O group to another.
  double bytes_across_groups = 0;
  // Simulation of the first steps' messages in rounds: in each round, every node offers the next
  // messages that it may have under way, and every network card (one per node) takes its fair
  // share. The last tenth of the messages is not counted, since the next step has begun by then.
  std::int64_t receiving_nodes = 0;  // nodes that receive messages in those steps
  Spread cards_at_once;              // cards that receive in a round
  // Bytes from other nodes that an aggregator whose storage does not respond has to keep outside
  // its buffers, sampled.
  double most_bytes_ahead = 0;
  // Routes of all messages, over the network of the topology, sampled. Without a network, each node
  // is one hop from every other one, and the only link is the one into a node.
  double hop_bytes = 0;   // bytes × links that they pass
  double mean_hops = 0;   // of a requested byte; 0 for bytes that stay on their node
  Spread bytes_per_link;  // over the links that carry any
};

// Fails if Plan::create does. A read is the mirror image, with senders and receivers exchanged.
// `grouped` has the nodes of `topology`, and the I/O groups by which bytes_across_groups is
// counted; null: those of `topology`, which no plan crosses.
[[nodiscard]] Result<PlanAudit> audit(const plan::Request& request,
                                      const topology::Topology& topology,
                                      const topology::FileTargets& targets,
                                      const plan::Parameters& parameters,
                                      const AuditLimits& limits = {},
                                      const topology::Topology* grouped = nullptr);

}  // namespace weir::bench::plan_audit
