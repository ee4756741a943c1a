// The moving of a request's bytes as its plan has it, as a state machine on every rank.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "aggregation/node_group.hpp"
#include "aggregation/requested_part.hpp"
#include "aggregation/store_choice.hpp"
#include "common/status.hpp"
#include "plan/cached_bundles.hpp"
#include "plan/plan.hpp"

namespace weir::aggregation {

// Where files are read from storage: a hole up to this long is read with what lies around it. It
// takes about as long as another journey to storage would (some 0.1 ms at 1 GB/s).
inline constexpr std::int64_t widest_cold_hole = 128 << 10;

// What all of a request's state machines know.
struct MoveContext {
  MPI_Comm communicator = MPI_COMM_NULL;
  const NodeGroup& group;
  std::shared_ptr<const plan::Plan> plan;        // of this rank's group
  std::shared_ptr<plan::CachedBundles> bundles;  // this rank's
  std::vector<RequestedPart> parts;              // the plan's arrays
  bool watched = false;                          // one of them is
  std::int64_t rank = 0;
  std::int64_t request = 0;  // its number, from 1 on
  std::int64_t buffers = 2;  // of each aggregator
  plan::PlatformRates rates;
  StoreChoices& stores;
  CollectiveFigures& figures;
  // Turns of one unit, for turn_of(): one for each of its parts at least, and nothing in common
  // with `buffers`, so that units take different buffers whatever is asked for in them.
  std::int64_t turns_per_step = 1;

  [[nodiscard]] bool writing() const { return plan->request().direction == Direction::write; }
  [[nodiscard]] const RequestedPart& part_of(int array) const {
    return parts[static_cast<std::size_t>(array)];
  }
  // When an aggregator's piece takes its turn: ascending, with gaps.
  [[nodiscard]] std::int64_t turn_of(const plan::PieceId& id) const;
  // The aggregator's buffer that takes the piece, and what opens it then: different for each piece
  // of each request. Who has a share of a piece knows both by himself.
  [[nodiscard]] std::int64_t buffer_of(const plan::PieceId& id) const {
    return turn_of(id) % buffers;
  }
  [[nodiscard]] std::int64_t ticket_of(const plan::PieceId& id) const;
};

// Whether the rank moves bytes between memory and files in the plan.
[[nodiscard]] bool moves_bytes(const std::shared_ptr<const plan::Plan>& plan, std::int64_t rank);

// The least number that is at least `parts` and has nothing in common with `buffers`.
[[nodiscard]] std::int64_t turns_for(std::int64_t parts, std::int64_t buffers);

class Move {
 public:
  Move() = default;
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  virtual ~Move() = default;

  // Does what can be done without waiting for another rank; true when that was something.
  virtual bool step() = 0;
  // After a step that did nothing: sleeps until another rank may have made something to do, or for
  // a moment, `naps_before` times after the last step that did something. False when nobody would
  // wake this rank, and it has to look again.
  virtual bool sleep(std::int64_t /*naps_before*/) { return false; }
  // Nothing is left to do for this rank. A rank whose storage failed gets there as the others do;
  // one whose messages failed does not, but has revoked the session.
  [[nodiscard]] virtual bool done() const = 0;
  // The first failure on this rank.
  [[nodiscard]] virtual const Status& status() const = 0;
};

}  // namespace weir::aggregation
