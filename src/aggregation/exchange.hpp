// A rank's side of a request that goes through aggregators: it hands its shares of the pieces to
// them, or takes them, and gathers when it is an aggregator.
//
// No rank waits for one thing only. Shares are handed over in the order of the plan, those of the
// own node and those of other nodes each by themselves, and an aggregator opens its buffers in that
// order too; so the earliest piece that is not complete can always be completed, and all end.
//
// Between nodes there is one message for each piece and node (plan/node_messages.hpp), which the
// ranks of the node gather in, or take from, a slot of its memory (message_slots.hpp). One of them,
// the courier, sends it or receives it. Under server-directed a courier sends when the aggregator
// has asked for the piece.
//
// A message that fails revokes the session (ranks/revocation.hpp). This is then never done: whoever
// moves it looks at the revocation.
//
// Memory is bounded: the aggregator's buffers, as much again for messages, a window of the file,
// and the slots of the node. MPI keeps what has been sent and not received, so that is bounded,
// too: messages between nodes are sent synchronously, so they end when their receiver has begun to
// receive them, and a slot is taken until then, as is an aggregator's buffer when files are read.
// So an aggregator has at most four messages of each node that it has not opened a buffer for, and
// the ranks of a node at most as many messages of an aggregator as it has buffers. The
// acknowledgement inside MPI that this costs is one for each message of a node.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "aggregation/gathering.hpp"
#include "aggregation/message_slots.hpp"
#include "aggregation/move.hpp"
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
  // This rank's pieces of the aggregators of its node, or of the others, one after the other.
  class Pieces {
   public:
    Pieces(const MoveContext& context, bool on_node);
    [[nodiscard]] bool left() const { return left_; }
    [[nodiscard]] const plan::PieceId& id() const { return id_; }
    void advance();

   private:
    const MoveContext& context_;
    bool on_node_;
    plan::RankPieces pieces_;
    plan::PieceId id_;
    bool left_ = true;
  };
  // A message of this node that this rank still has to do with. Writing: its courier is this rank,
  // and the share packed. Reading: the share of this rank is not unpacked.
  struct Message {
    MessageSlots::Slot& slot;
    plan::Piece piece;
    plan::NodeShare share;  // of this rank
    std::byte* data = nullptr;
    std::vector<std::byte> own_data{};  // of a message that is longer than a slot
    bool carries = false;               // this rank is the courier
    bool started = false;
    ranks::Pending pending{};
    Ask ask{};
    ranks::Pending asking{};  // receives the ask
  };

  bool step_on_node();
  // Between this rank's memory and a buffer of the node; returns how many bytes.
  std::int64_t copy_share(const plan::Piece& piece, std::byte* buffer);
  bool step_between_nodes();
  // Publishes which piece between nodes comes next.
  void come_to_next() const;
  // Finds the slot of the next piece, and packs or awaits the share; false when it has none yet.
  bool begin_next();
  [[nodiscard]] std::vector<plan::NodeMessage> messages_of_node(const plan::Piece& piece) const;
  void copy_share_of_message(const plan::Piece& piece, std::byte* share);
  void begin_message(MessageSlots::Slot& slot, plan::Piece piece, const plan::NodeShare& share);
  // Moves a message on; true when it has ended.
  bool move_on(Message& message);
  // Under server-directed, whether the aggregator wants the message now.
  [[nodiscard]] Result<bool> has_been_asked(Message& message);
  [[nodiscard]] Result<bool> send(Message& message);
  [[nodiscard]] Result<bool> take_from(Message& message);
  // Whether nothing that has to go before it to the same aggregator has still to be sent.
  [[nodiscard]] bool is_next_to_its_aggregator(const Message& message) const;
  [[nodiscard]] int aggregator_of(const Message& message) const {
    return static_cast<int>(context_.plan->rank_of(message.piece.id.aggregator));
  }
  // MPI failed: what is under way never ends, and the session is over.
  void give_up(const Error& error) { context_.group.revocation().revoke(error); }

  MoveContext context_;
  bool asked_;  // server-directed, writing
  std::optional<Pieces> on_node_;
  std::optional<Pieces> between_nodes_;
  // The piece that between_nodes_ has come to, worked out once however long its slot is waited for.
  std::optional<plan::Piece> next_;
  bool has_share_of_next_ = false;
  std::uint32_t seen_wake_ups_ = 0;  // counted before the last step
  // In the order of the plan. Stay where they are: MPI writes to them.
  std::list<Message> messages_;
  std::unique_ptr<Gathering> gathering_;
  Status status_;
};

}  // namespace weir::aggregation
