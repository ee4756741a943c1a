// What the ranks of one node send to an aggregator of another node for one piece, or take from it:
// one message, in which the shares of the ranks lie side by side.
//
//     message of a node   | share of rank 4 | rank 5 | rank 7 |      ranks ascending
//
// Both sides work the message out from the plan, so it needs no header. A share looks as
// plan/meeting_blocks.hpp has it, with offsets that count from the start of the share.
//
// A message is no longer than a buffer. Shares of one node are longer together only where several
// of its ranks read the same elements; then there are several messages. A share that is longer by
// itself, because one rank reads the same element many times, is a message of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace weir::plan {

struct NodeShare {
  std::int64_t rank = 0;
  std::int64_t bytes = 0;   // more than 0
  std::int64_t offset = 0;  // from the start of the message

  friend bool operator==(const NodeShare&, const NodeShare&) = default;
};

struct NodeMessage {
  std::int64_t node = 0;
  std::int64_t courier = 0;  // the rank that sends it or receives it; has one of the shares
  std::int64_t bytes = 0;
  std::vector<NodeShare> shares;  // ranks ascending

  // The share of `rank`; null when it has none.
  [[nodiscard]] const NodeShare* share_of(std::int64_t rank) const;

  friend bool operator==(const NodeMessage&, const NodeMessage&) = default;
};

// The messages of all nodes but that of the piece's aggregator, nodes ascending. `contributors` are
// those of the piece, or those of some nodes, ranks ascending. Couriers differ from piece to piece,
// and are aggregators themselves only where nobody else can be one: an aggregator may be writing.
[[nodiscard]] std::vector<NodeMessage> node_messages(const Plan& plan, const PieceId& id,
                                                     std::span<const Contributor> contributors);

}  // namespace weir::plan
