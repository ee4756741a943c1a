#include "aggregation/move.hpp"

#include "plan/rank_pieces.hpp"

namespace weir::aggregation {
namespace {

// The number of bits of a turn in a ticket; the request's number is above them.
constexpr int turn_bits = plan::BufferTurns::bits;
constexpr std::int64_t request_mask = (std::int64_t{1} << (62 - turn_bits)) - 1;

}  // namespace

std::int64_t MoveContext::ticket_of(const plan::PieceId& id) const {
  return ((request & request_mask) << turn_bits) | turns.turn_of(id);
}

bool moves_bytes(const std::shared_ptr<const plan::Plan>& plan, std::int64_t rank) {
  if (plan->parameters().strategy == plan::Strategy::direct) {
    plan::PieceId id;
    return plan::RankPieces(plan, rank).next(id);
  }
  const auto aggregator = plan->aggregator_at(rank);
  plan::Piece piece;
  return aggregator && plan::AggregatorPieces(plan, *aggregator).next(piece);
}

}  // namespace weir::aggregation
