// An aggregator's side of a request: its pieces of the files pass through its buffers, in order.
//
// A buffer is opened for the next piece as soon as it is free, so that other buffers fill while one
// is written. Ranks of the node copy into it themselves (node_group.hpp). The data from another
// node arrive as one message (plan/node_messages.hpp), which is received while the buffer is open,
// and unpacked. With server-directed, the aggregator then asks the couriers for their messages, and
// they send nothing before. A read is the mirror image, without asking: the buffer is filled from
// the file and opened, and its data are copied out and sent.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "aggregation/move.hpp"
#include "aggregation/piece_transfer.hpp"
#include "common/scratch_memory.hpp"
#include "plan/cached_pieces.hpp"
#include "plan/node_messages.hpp"
#include "plan/rank_pieces.hpp"
#include "ranks/messages.hpp"

namespace weir::aggregation {

inline constexpr int message_tag = 17;
inline constexpr int ask_tag = 18;

// The id of a piece in the form in which an aggregator asks couriers for their messages.
using Ask = std::array<std::int64_t, 5>;
[[nodiscard]] Ask ask_for(const plan::PieceId& id);

class Gathering {
 public:
  // This rank is `aggregator` of the plan; `context` must outlive the object.
  Gathering(const MoveContext& context, std::int64_t aggregator);
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  ~Gathering() = default;

  // Makes progress without waiting. After an error of MPI the session is revoked, and this is never
  // done.
  bool step();
  // Returns whether an open buffer waits for messages to arrive or to be sent.
  [[nodiscard]] bool expects_messages() const;
  [[nodiscard]] bool done() const { return !has_next_ && open_.empty(); }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  struct Message {
    plan::NodeMessage of_node;
    std::int64_t at = 0;  // offset in the buffer for messages
  };
  // A buffer and the piece in it.
  struct Buffer {
    bool busy = false;
    plan::Piece piece;
    bool whole = false;  // no holes, so contributors do not matter
    std::vector<plan::Contributor> contributors;
    std::int64_t from_node = 0;       // bytes from ranks of the own node
    std::optional<std::int64_t> due;  // argument of PieceTransfer::move()
    std::vector<Message> messages;
    ranks::PendingSet pending;  // one for each message
    ranks::PendingSet asks;
    Ask ask{};
    ScratchMemory message_data;
  };

  void find_next();
  // Opens a buffer for the next piece if the buffer is free.
  bool open_next();
  void find_contributors(Buffer& buffer);
  // Returns whether no element of the piece is requested by several ranks.
  [[nodiscard]] bool is_disjoint(const plan::Piece& piece) const;
  [[nodiscard]] bool is_complete(std::int64_t number, Buffer& buffer);
  void start_messages(std::int64_t number, Buffer& buffer);
  [[nodiscard]] Status start_message(std::int64_t number, Buffer& buffer, const Message& message);
  // Copies a message's elements from or into the piece's buffer.
  void copy_message(std::int64_t number, Buffer& buffer, const Message& message);
  void transfer(std::int64_t number, const Buffer& buffer);
  Status move(const Buffer& buffer, std::byte* data);
  // Fills a buffer of the node from the file.
  Status fill(const Buffer& buffer, std::byte* data);
  [[nodiscard]] std::byte* data(std::int64_t number) const {
    return context_.group.buffer(context_.group.own_holder(), number);
  }
  [[nodiscard]] BufferControl& control(std::int64_t number) const {
    return context_.group.control(context_.group.own_holder(), number);
  }

  const MoveContext& context_;
  plan::PieceOrder<plan::AggregatorPieces> pieces_;
  plan::Piece next_;
  bool has_next_ = false;
  // The busy buffers, in the order in which they were opened. The first complete one is next: as
  // buffers are opened in the order of pieces, one that stayed would hold back all that follow.
  std::vector<std::int64_t> open_;
  std::vector<Buffer> buffers_;
  PieceTransfer transfer_;
  ScratchMemory staging_;  // memory for one piece, used by this rank alone
  Status status_;
};

}  // namespace weir::aggregation
