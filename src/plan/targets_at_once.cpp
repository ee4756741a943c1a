#include "plan/targets_at_once.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "array/layout.hpp"
#include "plan/meeting_blocks.hpp"
#include "plan/plan.hpp"
#include "plan/rank_pieces.hpp"

namespace weir::plan {
namespace {

constexpr std::int64_t sampled_callers = 64;
// Callers that meet at a target by chance go on to different ones.
constexpr double as_good_as_all = 0.5;

// Returns numbers from 0 to below `count`, evenly distributed and in no step with powers of two.
std::set<std::int64_t> some_of(std::int64_t count) {
  std::set<std::int64_t> some;
  if (count <= sampled_callers) {
    for (std::int64_t one = 0; one < count; ++one) some.insert(one);
    return some;
  }
  constexpr double golden = 0.6180339887498949;
  for (std::int64_t one = 0; one < sampled_callers; ++one) {
    const double place = static_cast<double>(one) * golden;
    some.insert(
        static_cast<std::int64_t>((place - std::floor(place)) * static_cast<double>(count)));
  }
  return some;
}

// Says where in the file a caller begins.
struct Start {
  std::int64_t offset = 0;
  std::int64_t end = 0;  // of what it moves first, with the holes
};

Start start_of(const array::StridedCopy& to_file) {
  Start start{to_file.to_offset, to_file.to_offset + to_file.bytes};
  for (const array::CopyLevel& along : to_file.levels) {
    start.end += (along.count - 1) * along.to_stride;
  }
  return start;
}

// Returns nothing if the aggregator has no piece.
std::optional<Start> start_of_aggregator(const std::shared_ptr<const Plan>& plan,
                                         std::int64_t aggregator) {
  AggregatorPieces pieces(plan, aggregator);
  PieceId id;
  if (!pieces.next(id)) return std::nullopt;
  const Piece piece = plan->piece(id);
  if (piece.slabs.empty()) return std::nullopt;
  return start_of(buffer_to_file(piece.slabs[0]));
}

// Returns nothing if the rank has no part.
std::optional<Start> start_of_rank(const std::shared_ptr<const Plan>& plan, std::int64_t rank) {
  RankPieces pieces(plan, rank);
  PieceId id;
  if (!pieces.next(id)) return std::nullopt;
  const Piece piece = plan->piece(id);
  MeetingBlocks blocks(*plan, piece, rank);
  MeetingBlock block;
  if (!blocks.next(block)) return std::nullopt;
  return start_of(buffer_to_file(block, piece.slabs[block.slab]));
}

}  // namespace

Result<double> targets_at_once(const Request& request, const topology::Topology& topology,
                               const topology::FileTargets& targets, const Parameters& parameters) {
  if (targets.count <= 1 || targets.stripe_bytes <= 0) {
    return static_cast<double>(std::max<std::int64_t>(1, targets.count));
  }
  const std::int64_t all_stripes = (request.bytes() - 1) / targets.stripe_bytes + 1;
  const auto all = static_cast<double>(std::clamp<std::int64_t>(all_stripes, 1, targets.count));
  std::map<std::int64_t, std::int64_t> callers;  // of the sample, by targets
  std::int64_t stripes = 0;
  const auto add = [&](const std::optional<Start>& start) {
    if (!start) return;
    const std::int64_t first = start->offset / targets.stripe_bytes;
    ++callers[first % targets.count];
    stripes += (start->end - 1) / targets.stripe_bytes - first + 1;
  };
  if (parameters.strategy == Strategy::direct) {
    const auto plan = Plan::create(request, topology, parameters);
    if (!plan) return plan.error();
    for (const std::int64_t rank : some_of(request.ranks())) add(start_of_rank(plan.value(), rank));
  } else {
    const std::int64_t groups = Plan::groups(topology, parameters.strategy);
    std::shared_ptr<const Plan> plan;
    std::int64_t planned = -1;
    for (const std::int64_t one : some_of(groups * parameters.aggregators)) {
      if (const std::int64_t group = one / parameters.aggregators; group != planned) {
        const auto made = Plan::create(request, topology, parameters, group);
        if (!made) return made.error();
        plan = made.value();
        planned = group;
      }
      const std::int64_t aggregator = one % parameters.aggregators;
      if (aggregator < plan->aggregators()) add(start_of_aggregator(plan, aggregator));
    }
  }
  double sampled = 0;
  double meetings = 0;
  for (const auto& [target, at_it] : callers) {
    const auto count = static_cast<double>(at_it);
    sampled += count;
    meetings += count * (count - 1);
  }
  if (meetings == 0) return all;
  const double stripes_of_one = static_cast<double>(stripes) / sampled;
  const double at_once = sampled * (sampled - 1) / meetings * stripes_of_one;
  return at_once < as_good_as_all * all ? at_once : all;
}

}  // namespace weir::plan
