// What carrying out a request would do to a large machine, counted from its plans: messages, bytes,
// which nodes write to which storage target, how many network cards receive at a time, and how much
// waits in the memory of a slow aggregator. No MPI, no file, no clock: machines of any size can be
// looked at on one core.
//
// Only a sample is looked at (AuditLimits), because a plan may have millions of pieces. Numbers of
// pieces are exact; figures marked "sampled" rest on the pieces that were looked at. The work is in
// proportion to aggregators × limits.pieces for where bytes go, to limits.shared_pieces × ranks for
// messages, and to limits.messages for the order of arrivals: a few seconds for 16,384 ranks.
#pragma once

#include <cstdint>

#include "common/status.hpp"
#include "plan/parameters.hpp"
#include "plan/rank_pieces.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace weir::plan {

struct AuditLimits {
  std::int64_t pieces = 192;        // of each aggregator, for the targets that it meets
  std::int64_t shared_pieces = 24;  // of all, whose contributors are counted
  std::int64_t steps = 2;           // whose messages are followed
  std::int64_t messages = 1 << 20;  // that are followed at most, as far as one rank a node allows
  // How far a node may be ahead of aggregators (rank_pieces.hpp); pieces_ahead 0: without bound.
  std::int64_t under_way = least_messages_under_way;
  std::int64_t pieces_ahead = most_pieces_ahead;
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
  Parameters parameters;
  std::int64_t nodes = 0;
  std::int64_t targets = 0;
  std::int64_t aggregators = 0;        // of all groups; under direct, ranks
  std::int64_t aggregating_nodes = 0;  // that have one
  std::int64_t pieces = 0;             // of all aggregators
  Spread pieces_per_aggregator;
  // Bytes asked for, sampled.
  Spread bytes_per_aggregator;
  Spread bytes_per_node;    // of the nodes that aggregate
  Spread bytes_per_target;  // of the targets that are met
  // Nodes that write to or read from one target. A lower bound where an aggregator has more pieces
  // than were looked at.
  Spread client_nodes_per_target;
  // Between nodes, sampled. What the ranks of a node have of a piece is one message.
  Spread messages_per_piece;
  Spread nodes_per_piece;    // other than the aggregator's, that have a share of a piece
  Spread bytes_per_message;  // mean of each piece that was looked at
  double messages = 0;       // of the request
  // The first steps' messages in rounds: in each, every node offers the next messages that it may
  // have under way, and every card (one a node) takes its fair share. The last tenth of the
  // messages is not counted, as the next step has begun by then.
  std::int64_t receiving_nodes = 0;  // that get messages in those steps
  Spread cards_at_once;              // that receive in a round
  // Bytes from other nodes that an aggregator whose storage stands still has to keep outside its
  // buffers, sampled.
  double most_bytes_ahead = 0;
};

// Fails where Plan::create does. Reading is the mirror image: senders for receivers.
[[nodiscard]] Result<PlanAudit> audit(const Request& request, const topology::Topology& topology,
                                      const topology::FileTargets& targets,
                                      const Parameters& parameters, const AuditLimits& limits = {});

}  // namespace weir::plan
