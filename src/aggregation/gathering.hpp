// An aggregator's side of a request: its pieces of the files go through its buffers, in order.
//
// A buffer is opened for the next piece when it is free, so that while one is written others fill.
// Ranks of the node copy into it themselves (node_group.hpp); what the ranks of another node have
// comes as one message (plan/node_messages.hpp), which is received as long as the buffer is open,
// and unpacked. Under server-directed they are asked for it then, and send nothing before. Reading
// is the mirror image, without asking: filled from the file, opened, copied from and sent.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "aggregation/move.hpp"
#include "aggregation/piece_transfer.hpp"
#include "plan/node_messages.hpp"
#include "plan/rank_pieces.hpp"
#include "ranks/messages.hpp"

namespace weir::aggregation {

inline constexpr int message_tag = 17;
inline constexpr int ask_tag = 18;

// The name of a piece as it is sent to the couriers that are asked for their messages.
using Ask = std::array<std::int64_t, 5>;
[[nodiscard]] Ask ask_for(const plan::PieceId& id);

class Gathering {
 public:
  // `aggregator` of the plan is this rank; `context` outlives this.
  Gathering(const MoveContext& context, std::int64_t aggregator);
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  ~Gathering() = default;

  // After an error of MPI the session is revoked, and this is never done.
  bool step();
  // Whether an open buffer waits for messages, in or out.
  [[nodiscard]] bool expects_messages() const;
  [[nodiscard]] bool done() const { return !has_next_ && busy_ == 0; }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  struct Message {
    plan::NodeMessage of_node;
    std::int64_t at = 0;  // in the buffer for messages
  };
  // State of a buffer and the piece in it.
  struct Buffer {
    bool busy = false;
    plan::Piece piece;
    bool whole = false;  // no holes: contributors do not matter
    bool in_bundle = false;
    std::vector<plan::Contributor> contributors;
    std::int64_t from_node = 0;       // bytes
    std::optional<std::int64_t> due;  // PieceTransfer::move()
    std::vector<Message> messages;
    ranks::PendingSet pending;  // one for each message
    ranks::PendingSet asks;
    Ask ask{};
    std::vector<std::byte> message_data;
  };

  void find_next() { has_next_ = pieces_.next(next_); }
  // Opens a buffer for the next piece, when it is free.
  bool open_next();
  void find_contributors(Buffer& buffer);
  // Whether no element of the piece is asked for by several ranks.
  [[nodiscard]] bool is_disjoint(const plan::Piece& piece) const;
  [[nodiscard]] bool is_complete(std::int64_t number, Buffer& buffer);
  void start_messages(std::int64_t number, Buffer& buffer);
  [[nodiscard]] Status start_message(std::int64_t number, Buffer& buffer, const Message& message);
  // A message's elements from or into the piece's buffer.
  void copy_message(std::int64_t number, Buffer& buffer, const Message& message);
  void transfer(std::int64_t number, const Buffer& buffer);
  Status move(const Buffer& buffer, std::byte* data);
  // From the file into a buffer of the node.
  Status fill(const Buffer& buffer, std::byte* data);
  [[nodiscard]] std::byte* data(std::int64_t number) const {
    return context_.group.buffer(context_.group.own_holder(), number);
  }
  [[nodiscard]] BufferControl& control(std::int64_t number) const {
    return context_.group.control(context_.group.own_holder(), number);
  }

  const MoveContext& context_;
  plan::AggregatorPieces pieces_;
  plan::Piece next_;
  bool has_next_ = false;
  int busy_ = 0;
  std::vector<Buffer> buffers_;
  PieceTransfer transfer_;
  std::vector<std::byte> staging_;  // of one piece, of this rank alone
  Status status_;
};

}  // namespace weir::aggregation
