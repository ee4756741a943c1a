#include "plan/gather_plan.hpp"

#include <algorithm>
#include <tuple>

namespace weir::plan {

GatherPlan gather_plan(const PieceDomains& domains, const array::Distribution& memory,
                       const array::Region& asked_for, std::int64_t rank, std::int64_t aggregator,
                       std::int64_t first_turn) {
  GatherPlan plan;
  struct Meeting {
    std::int64_t turn;
    std::int64_t aggregator;
    std::int64_t piece;
    std::int64_t memory_piece;
    auto operator<=>(const Meeting&) const = default;
  };
  std::vector<Meeting> meetings;
  std::vector<std::int64_t> pieces;
  const std::int64_t held = rank < memory.ranks() ? memory.pieces(rank) : 0;
  for (std::int64_t number = 0; number < held; ++number) {
    pieces.clear();
    array::CommonRegions regions(memory.piece(rank, number), asked_for);
    for (array::Region common; regions.next(common);) {
      domains.grid().append_meeting(common, pieces);
    }
    std::sort(pieces.begin(), pieces.end());
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    for (const std::int64_t piece : pieces) {
      meetings.push_back(
          {first_turn + domains.turn_of(piece), domains.aggregator_of(piece), piece, number});
    }
  }
  std::sort(meetings.begin(), meetings.end());
  for (const Meeting& meeting : meetings) {
    const auto at = static_cast<std::int64_t>(plan.memory_pieces.size());
    if (plan.shares.empty() || plan.shares.back().piece != meeting.piece) {
      plan.shares.push_back({meeting.piece, meeting.turn, meeting.aggregator, at, 0});
    }
    ++plan.shares.back().count;
    plan.memory_pieces.push_back(meeting.memory_piece);
  }
  if (aggregator >= 0) {
    for (const std::int64_t piece : domains.pieces_of(aggregator)) {
      plan.duties.push_back({piece, first_turn + domains.turn_of(piece)});
    }
  }
  return plan;
}

std::int64_t elements_held(const array::Distribution& memory, const array::Region& wanted) {
  // A regular distribution deals every element to one rank.
  if (memory.regular() != nullptr) return wanted.elements();
  std::int64_t elements = 0;
  for (const RankElements& one : elements_by_rank(memory, wanted)) elements += one.elements;
  return elements;
}

std::vector<RankElements> elements_by_rank(const array::Distribution& memory,
                                           const array::Region& wanted) {
  std::vector<RankElements> found;
  for (const array::Distribution::Piece& piece : memory.pieces_meeting(wanted)) {
    const std::int64_t elements =
        array::common_elements(memory.piece(piece.rank, piece.number), wanted);
    if (!found.empty() && found.back().rank == piece.rank) {
      found.back().elements += elements;
    } else {
      found.push_back({piece.rank, elements});
    }
  }
  return found;
}

}  // namespace weir::plan
