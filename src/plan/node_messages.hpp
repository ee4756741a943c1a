// The message that the ranks of one node send to an aggregator on another node for one piece, or
// receive from it. It contains the shares of the ranks side by side:
//
//     message of a node   | share of rank 4 | rank 5 | rank 7 |      ranks ascending
//
// Both sides compute the message from the plan, so it needs no header. plan/meeting_blocks.hpp
// describes the contents of a share; offsets there count from the start of the share.
//
// A message is at most as long as a buffer. The shares of one node can be longer together only if
// several of its ranks read the same elements; in that case there are several messages. A share
// that is longer by itself, because one rank reads the same element many times, is a message of its
// own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace weir::plan {

struct NodeShare {
  std::int64_t rank = 0;
  std::int64_t bytes = 0;   // greater than 0
  std::int64_t offset = 0;  // from the start of the message

  friend bool operator==(const NodeShare&, const NodeShare&) = default;
};

struct NodeMessage {
  std::int64_t node = 0;
  std::int64_t courier = 0;  // a rank with a share, which sends or receives the message
  std::int64_t bytes = 0;
  std::vector<NodeShare> shares;  // in ascending order of ranks

  // Returns the share of `rank`; null if it has none.
  [[nodiscard]] const NodeShare* share_of(std::int64_t rank) const;

  friend bool operator==(const NodeMessage&, const NodeMessage&) = default;
};

// Returns the messages of all nodes except that of the piece's aggregator, with nodes ascending.
// `contributors` are those of the piece, or those of some nodes, with ranks ascending. The courier
// differs from piece to piece. An aggregator is a courier only if no other rank can be one, since
// an aggregator may be writing.
[[nodiscard]] std::vector<NodeMessage> node_messages(const Plan& plan, const PieceId& id,
                                                     std::span<const Contributor> contributors);

}  // namespace weir::plan
