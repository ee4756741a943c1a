// The order of a schedule, as seen from both sides: the pieces of an aggregator, and the pieces to
// which a rank contributes.
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

// Limits on how far a node may be ahead of aggregators on other nodes: the number of messages that
// it may have under way at once in any case, and the number of pieces of one aggregator for which
// its ranks fill or send messages before the aggregator has opened a buffer for them.
inline constexpr std::int64_t least_messages_under_way = 4;
inline constexpr std::int64_t most_pieces_ahead = 4;

// Returns the number of messages to or from other nodes for which a node has memory, for each of
// its ranks with buffers.
[[nodiscard]] std::int64_t slots_of_a_holder(std::int64_t buffers, std::int64_t holders);
// Returns the number of messages that a node has under way at once in a plan whose aggregators have
// so many buffers: the slots of a node with no more holders than the group has aggregators for each
// node. More messages would share the link of the node, so that none of them arrives in time.
[[nodiscard]] std::int64_t messages_at_once(const Plan& plan, std::int64_t buffers);

// Generates the pieces of one aggregator in which elements are requested, in order. (If ranks leave
// holes, a piece may have no contributor.)
class AggregatorPieces {
 public:
  AggregatorPieces(std::shared_ptr<const Plan> plan, std::int64_t aggregator);
  // Return false if no piece is left.
  bool next(Piece& piece);
  bool next(PieceId& id);  // creates no slab

 private:
  // Advances to the aggregator's next unit with requested elements, starting at step `step_` of the
  // array.
  bool find_unit();

  std::shared_ptr<const Plan> plan_;
  std::int64_t aggregator_;
  std::size_t place_ = 0;  // index into the scheduled arrays
  int array_ = 0;
  std::int64_t step_ = 0;  // step of the array's next unit to examine
  PieceId next_;           // id of the next part
  bool bundle_taken_ = false;
  std::int64_t parts_ = 0;  // number of parts in the current unit
};

// Generates the pieces that hold elements of a rank's part, by ascending step, and within a step by
// ascending part. Pieces of the same step and part, of which each aggregator has at most one, are
// in an order that depends on the rank's node (Plan::turn_for): each node begins with the
// aggregators of the next node. If all nodes began with the same aggregator, one network card after
// the other would receive while the others wait. All ranks of a node visit the pieces that they
// share in the same order, since they fill messages together (node_messages.hpp).
//
// The different order on different nodes cannot cause a deadlock. Aggregators also work by
// ascending (step, part), in a bounded number of buffers. Consider the smallest (step, part) with
// an incomplete piece: its aggregators have completed all their earlier pieces, so each can open a
// buffer for its piece of that step and part without waiting for any other aggregator. A rank that
// has not handed over its share has no share left before (step, part), so it waits, or will wait,
// only for pieces of that step and part, all of which get buffers. By induction, all pieces are
// completed. An order by aggregator before part would not work: with more parts than buffers, two
// ranks could wait in each other's turn. (aggregation/message_slots.hpp has the proof for the
// messages of a node.)
//
// The work is proportional to the number of pieces that intersect the rank's part. The memory is
// proportional to the number of the part's boxes, times the number of contiguous domains that they
// intersect, and to the number of the part's pieces in one step.
class RankPieces {
 public:
  RankPieces(std::shared_ptr<const Plan> plan, std::int64_t rank);
  // Returns false if no piece is left.
  bool next(PieceId& id);

 private:
  // The next unit, of one domain or of all domains, that intersects a region.
  struct Cursor {
    PieceId id;
    std::size_t region = 0;

    // Orders cursors by step, then by unit. Each cursor advances in this order, so that cursors at
    // the same unit are there at the same time.
    friend bool operator>(const Cursor& a, const Cursor& b) {
      return std::pair(a.id.step, a.id.unit) > std::pair(b.id.step, b.id.unit);
    }
  };

  // Finds the pieces of the next step that has any; returns false if there is none.
  bool find_step();
  void begin_array();
  // Returns whether the rank has elements of the bundle.
  [[nodiscard]] bool meets(const Bundle& bundle) const;
  // Adds to found_ the parts of a unit that intersect any of the regions.
  void find_parts(const PieceId& first, const std::vector<std::size_t>& regions);
  void put_in_order();

  std::shared_ptr<const Plan> plan_;
  std::int64_t rank_;
  std::size_t place_ = 0;  // index of the next array into the scheduled arrays
  int array_ = 0;
  std::vector<array::Region> regions_;  // the rank's part of the array, near the requested elements
  bool all_asked_for_ = false;          // all of that part is requested: no strides
  std::priority_queue<Cursor, std::vector<Cursor>, std::greater<>> cursors_;
  std::vector<PieceId> found_;  // pieces of one step; the last one is returned next
};

}  // namespace weir::plan
