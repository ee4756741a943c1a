// A rank's side of a request that uses aggregators: the rank hands its shares of the pieces to
// them, or receives them, and also gathers if it is an aggregator itself.
//
// No rank ever waits for a single event only. Shares are handed over in the order of the plan,
// separately for aggregators of the own node and of other nodes, and aggregators open their buffers
// in that order too. The earliest incomplete piece can therefore always be completed, and all
// pieces are.
//
// Between nodes there is one message for each piece and node (plan/node_messages.hpp). The ranks of
// the node gather it in, or take it from, a slot of the node's memory (message_slots.hpp). One of
// them, the courier, sends or receives it. With server-directed, a courier sends when the
// aggregator has asked for the piece.
//
// A failed message revokes the session (ranks/revocation.hpp). The Exchange is then never done, so
// its caller checks the revocation.
//
// The memory is bounded: the aggregator's buffers, the same amount for messages, a window of the
// file, and the slots of the node. MPI keeps messages that were sent and not yet received, so their
// number is bounded too. Messages between nodes are sent synchronously: a send ends when the
// receiver has begun to receive, and until then it occupies a slot, or in a read an aggregator's
// buffer. An aggregator therefore has at most four messages from each node for which it has not
// opened a buffer, and the ranks of a node have at most as many messages of an aggregator as it has
// buffers. The cost is one acknowledgement inside MPI for each message of a node.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "aggregation/gathering.hpp"
#include "aggregation/message_slots.hpp"
#include "aggregation/move.hpp"
#include "common/scratch_memory.hpp"
#include "plan/cached_pieces.hpp"
#include "plan/node_messages.hpp"
#include "plan/rank_pieces.hpp"
#include "ranks/messages.hpp"

namespace weir::aggregation {

class Exchange final : public Move {
 public:
  explicit Exchange(MoveContext context);

  bool step() override;
  bool sleep(std::int64_t naps_before) override;
  [[nodiscard]] bool done() const override;
  [[nodiscard]] const Status& status() const override { return status_; }

 private:
  // Iterates over this rank's pieces with aggregators on its node, or with aggregators on other
  // nodes.
  class Pieces {
   public:
    Pieces(const MoveContext& context, bool on_node);
    [[nodiscard]] bool left() const { return left_; }
    [[nodiscard]] const plan::PieceId& id() const { return id_; }
    // Returns the rank of the piece's aggregator.
    [[nodiscard]] std::int64_t aggregator() const { return aggregator_; }
    void advance();

   private:
    const MoveContext& context_;
    bool on_node_;
    plan::PieceOrder<plan::RankPieces> pieces_;
    plan::PieceId id_;
    std::int64_t aggregator_ = 0;
    bool left_ = true;
  };
  // A message of this node that this rank has not finished. In a write, this rank is its courier
  // and has packed its share. In a read, this rank has not unpacked its share.
  struct Message {
    MessageSlots::Slot& slot;
    plan::Piece piece;
    plan::NodeShare share;  // of this rank
    std::byte* data = nullptr;
    ScratchMemory own_data{};  // for a message that is longer than a slot
    bool carries = false;      // this rank is the courier
    bool started = false;
    ranks::Pending pending{};
    Ask ask{};
    ranks::Pending asking{};  // receives the request of the aggregator
  };

  bool step_on_node();
  // Copies between this rank's memory and a buffer of the node; returns the number of bytes.
  std::int64_t copy_share(const plan::Piece& piece, std::byte* buffer);
  bool step_between_nodes();
  // Publishes which piece between nodes comes next.
  void come_to_next() const;
  // Finds the slot of the next piece, and packs or awaits the share; returns false if there is no
  // slot yet.
  bool begin_next();
  [[nodiscard]] std::vector<plan::NodeMessage> messages_of_node(const plan::Piece& piece) const;
  void copy_share_of_message(const plan::Piece& piece, std::byte* share);
  void begin_message(MessageSlots::Slot& slot, plan::Piece piece, const plan::NodeShare& share);
  // Advances a message; returns true if it has ended.
  bool move_on(Message& message);
  // Returns whether the aggregator wants the message now; used with server-directed.
  [[nodiscard]] Result<bool> has_been_asked(Message& message);
  [[nodiscard]] Result<bool> send(Message& message);
  [[nodiscard]] Result<bool> take_from(Message& message);
  // Returns whether all earlier messages to the same aggregator have been sent.
  [[nodiscard]] bool is_next_to_its_aggregator(const Message& message) const;
  [[nodiscard]] int aggregator_of(const Message& message) const {
    return static_cast<int>(context_.plan->rank_of(message.piece.id.aggregator));
  }
  // Called when MPI fails: operations under way never end, and the session is over.
  void give_up(const Error& error) { context_.group.revocation().revoke(error); }

  MoveContext context_;
  bool asked_;  // server-directed, and a write
  std::optional<Pieces> on_node_;
  std::optional<Pieces> between_nodes_;
  std::int64_t at_once_ = 0;  // messages of the node
  // The current piece of between_nodes_, computed only once while the rank waits for its slot.
  std::optional<plan::Piece> next_;
  bool has_share_of_next_ = false;
  std::uint32_t seen_wake_ups_ = 0;  // value before the last step
  // The elements are in the order of the plan. They do not move in memory, since MPI writes to
  // them.
  std::list<Message> messages_;
  std::unique_ptr<Gathering> gathering_;
  Status status_;
};

}  // namespace weir::aggregation
