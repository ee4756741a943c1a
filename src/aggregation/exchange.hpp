// A rank's side of a request that goes through aggregators: it hands its shares of the pieces to
// them, or takes them, and gathers when it is an aggregator.
//
// No rank waits for one thing only. Shares are handed over in the order of the plan, those of the
// own node and those of other nodes each by themselves, and an aggregator opens its buffers in that
// order too; so the earliest piece that is not complete can always be completed, and all end. Under
// server-directed a rank moves what aggregators of other nodes ask for, in the order in which they
// ask; it counts its pieces before, so it knows when it has been asked for all.
//
// A message that fails revokes the session (ranks/revocation.hpp). This is then never done: whoever
// moves it looks at the revocation.
//
// Memory is bounded: the aggregator's buffers, as much again for messages, a window of the file,
// and a few messages that this rank has under way. MPI keeps what has been sent and not received,
// so that is bounded, too, by credits (ranks/send_credits.hpp): writing, a rank has sent its shares
// of at most four pieces that their aggregator has not opened a buffer for; reading, an aggregator
// has sent a rank at most twice as many messages as it has buffers that the rank has not begun to
// receive. Nothing new is waited for, so all still end: the message that has to be received before
// the next one is of an earlier piece of the same aggregator, for which a buffer is opened (or
// memory of the rank named) when the pieces before it are complete; and by the order of the plan
// these do not wait for later ones. Under server-directed what is written is asked for, and so
// needs no credits.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "aggregation/gathering.hpp"
#include "aggregation/move.hpp"
#include "plan/rank_pieces.hpp"
#include "ranks/messages.hpp"
#include "ranks/send_credits.hpp"

namespace weir::aggregation {

class Exchange final : public Move {
 public:
  explicit Exchange(MoveContext context);

  bool step() override;
  bool sleep() override;
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
  // A message between this rank and an aggregator of another node.
  static constexpr int no_rank = -1;
  struct Parcel {
    ranks::Pending pending;
    bool busy = false;
    int unreceived_by = no_rank;  // the receiver that has to begin to receive it before it ends
    plan::Piece piece;
    std::vector<std::byte> data;
  };

  void count_asks();
  bool step_on_node();
  // Between this rank's memory and a buffer of the node; returns how many bytes.
  std::int64_t copy_share(const plan::Piece& piece, std::byte* buffer);
  bool step_between_nodes();
  // Whether the rank has not begun to receive what it must before there is more for it.
  [[nodiscard]] bool is_behind(int rank) const;
  // The next piece to send or receive, when it is known and may go.
  bool next_between_nodes(plan::PieceId& id);
  bool end_parcels();
  void start_parcel(Parcel& parcel, const plan::PieceId& id);
  [[nodiscard]] Status start_message(Parcel& parcel, std::int64_t bytes, int peer);
  // MPI failed: what is under way never ends, and the session is over.
  void give_up(const Error& error) { context_.group.revocation().revoke(error); }

  MoveContext context_;
  bool asked_;  // server-directed
  std::optional<Pieces> on_node_;
  std::optional<Pieces> between_nodes_;
  std::int64_t asks_left_ = 0;
  Ask ask_{};
  ranks::Pending asking_;  // receives ask_
  bool expects_ask_ = false;
  std::uint32_t heard_ = 0;  // of the own bell, before the last step
  std::vector<Parcel> parcels_;
  std::size_t parcels_busy_ = 0;
  ranks::SendCredits credits_;
  std::unique_ptr<Gathering> gathering_;
  Status status_;
};

}  // namespace weir::aggregation
