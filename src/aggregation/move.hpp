// Moves the bytes of a request according to its plan, as a state machine on every rank.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "aggregation/node_group.hpp"
#include "aggregation/requested_part.hpp"
#include "aggregation/store_choice.hpp"
#include "common/status.hpp"
#include "plan/buffer_turns.hpp"
#include "plan/cached_pieces.hpp"
#include "plan/plan.hpp"

namespace weir::aggregation {

// Data that all state machines of a request need.
struct MoveContext {
  MPI_Comm communicator = MPI_COMM_NULL;
  const NodeGroup& group;
  std::shared_ptr<const plan::Plan> plan;      // of this rank's group
  std::shared_ptr<plan::CachedPieces> pieces;  // of this rank
  std::vector<RequestedPart> parts;            // arrays of the plan
  bool watched = false;                        // whether one of `parts` is watched
  std::int64_t rank = 0;
  std::int64_t request = 0;  // number of the request, from 1
  std::int64_t buffers = 2;  // number of buffers of each aggregator
  plan::PlatformRates rates;
  StoreChoices& stores;
  CollectiveFigures& figures;
  plan::BufferTurns turns = {};

  [[nodiscard]] bool writing() const { return plan->request().direction == Direction::write; }
  [[nodiscard]] const RequestedPart& part_of(int array) const {
    return parts[static_cast<std::size_t>(array)];
  }
  // Returns the ticket that opens the aggregator's buffer for a piece, which differs between the
  // pieces of all requests. Each rank with a share of a piece computes it by itself.
  [[nodiscard]] std::int64_t ticket_of(const plan::PieceId& id) const;
};

// Returns whether the rank moves bytes between memory and files in the plan.
[[nodiscard]] bool moves_bytes(const std::shared_ptr<const plan::Plan>& plan, std::int64_t rank);

class Move {
 public:
  Move() = default;
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  virtual ~Move() = default;

  // Does what can be done without waiting for another rank; returns true if it did anything.
  virtual bool step() = 0;
  // Called after a step that did nothing: sleeps until another rank may have provided work, or
  // briefly. `naps_before` counts the sleeps since the last step that did something. Returns false
  // if no rank would wake this one, so that it has to poll.
  virtual bool sleep(std::int64_t /*naps_before*/) { return false; }
  // Returns true if nothing is left to do for this rank. A rank whose storage failed gets there
  // like the others; a rank whose messages failed does not, but has revoked the session.
  [[nodiscard]] virtual bool done() const = 0;
  // Returns the first failure on this rank.
  [[nodiscard]] virtual const Status& status() const = 0;
};

}  // namespace weir::aggregation
