#include "aggregation/move.hpp"

#include <numeric>

#include "plan/rank_pieces.hpp"

namespace weir::aggregation {
namespace {

// Number of bits of a turn in a ticket; the request's number is above them. Pieces of a request
// that are 2^40 turns apart are never active at the same time.
constexpr int turn_bits = 40;
constexpr std::uint64_t turn_mask = (std::uint64_t{1} << turn_bits) - 1;
constexpr std::int64_t request_mask = (std::int64_t{1} << (62 - turn_bits)) - 1;

}  // namespace

std::int64_t MoveContext::turn_of(const plan::PieceId& id) const {
  const auto turn =
      static_cast<std::uint64_t>(id.step) * static_cast<std::uint64_t>(turns_per_step) +
      static_cast<std::uint64_t>(id.part);
  return static_cast<std::int64_t>(turn & turn_mask);
}

std::int64_t MoveContext::ticket_of(const plan::PieceId& id) const {
  return ((request & request_mask) << turn_bits) | turn_of(id);
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

std::int64_t turns_for(std::int64_t parts, std::int64_t buffers) {
  while (std::gcd(parts, buffers) != 1) ++parts;
  return parts;
}

}  // namespace weir::aggregation
