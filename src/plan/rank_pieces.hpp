// The order of a schedule, from either side: an aggregator's pieces, and those that a rank
// contributes to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "array/region.hpp"
#include "plan/plan.hpp"

namespace weir::plan {

// How far a node may be ahead of aggregators on other nodes: messages that it may at least have
// under way at once, and pieces of one aggregator that its ranks fill messages for or send before
// the aggregator has opened a buffer for them.
inline constexpr std::int64_t least_messages_under_way = 4;
inline constexpr std::int64_t most_pieces_ahead = 4;

// The pieces of one aggregator in which something is asked for, in order. (Where ranks leave holes,
// a piece may have no contributor.)
class AggregatorPieces {
 public:
  AggregatorPieces(std::shared_ptr<const Plan> plan, std::int64_t aggregator);
  // False when there is none left.
  bool next(Piece& piece);

 private:
  // Goes to the aggregator's next unit, from step `step_` of the array on, with anything asked for.
  bool find_unit();

  std::shared_ptr<const Plan> plan_;
  std::int64_t aggregator_;
  std::size_t place_ = 0;  // among the arrays that are scheduled
  int array_ = 0;
  std::int64_t step_ = 0;  // of the array: of the next unit to look at
  PieceId next_;           // of the next part
  bool bundle_taken_ = false;
  std::int64_t parts_ = 0;  // of the current unit
};

// The pieces that hold elements of a rank's part, by ascending step, and within a step by ascending
// part. Pieces of the same step and part, of which each aggregator has one at most, come in an
// order of the rank's node (Plan::turn_for): each node begins at aggregators of the next one. If
// all began at the same aggregator, one network card after the other would receive, and the rest
// wait. All ranks of a node come to the pieces that they share in the same order, as they fill
// messages together (node_messages.hpp).
//
// That nodes differ in this order cannot lock them up. Aggregators, too, work by ascending (step,
// part), in a bounded number of buffers. Take the least (step, part) of which a piece is not
// complete: its aggregators have completed all of theirs before, so each can open a buffer for its
// piece of that step and part without waiting for any other aggregator. A rank that has not handed
// over its share has nothing left that comes before (step, part), so it waits, or will, only for
// pieces of that step and part, all of which get buffers. By induction all are completed. An order
// by aggregator before part would not do: with more parts than buffers two ranks could wait in each
// other's turn. (aggregation/message_slots.hpp has the proof for the messages of a node.)
//
// Work in proportion to the pieces that the rank's part meets; memory to its boxes, times the
// contiguous domains that they meet, and to its pieces of one step.
class RankPieces {
 public:
  RankPieces(std::shared_ptr<const Plan> plan, std::int64_t rank);
  // False when there is none left.
  bool next(PieceId& id);

 private:
  // The next unit of one domain, or of all, that a region meets.
  struct Cursor {
    PieceId id;
    std::size_t region = 0;

    // By step, then unit: the order in which each cursor goes on, so that those at the same unit
    // are there at the same time.
    friend bool operator>(const Cursor& a, const Cursor& b) {
      return std::pair(a.id.step, a.id.unit) > std::pair(b.id.step, b.id.unit);
    }
  };

  // Finds the pieces of the next step that has any; false when there is none.
  bool find_step();
  void begin_array();
  // Whether the rank has elements of the bundle.
  [[nodiscard]] bool meets(const Bundle& bundle) const;
  // The parts of a unit that any of the regions meets, added to found_.
  void find_parts(const PieceId& first, const std::vector<std::size_t>& regions);
  void put_in_order();

  std::shared_ptr<const Plan> plan_;
  std::int64_t rank_;
  std::size_t place_ = 0;  // the next, among the arrays that are scheduled
  int array_ = 0;
  std::vector<array::Region> regions_;  // the rank's part of the array, around what is asked for
  bool all_asked_for_ = false;          // that lies around it: no strides
  std::priority_queue<Cursor, std::vector<Cursor>, std::greater<>> cursors_;
  std::vector<PieceId> found_;  // of one step; the last one comes next
};

}  // namespace weir::plan
