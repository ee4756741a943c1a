#include "plan/piece_sample.hpp"

#include <algorithm>

namespace weir::plan {
namespace {

std::int64_t pieces_of(const Plan& plan, std::int64_t aggregator, int array) {
  const bool in_bundle =
      plan.bundle(array) != nullptr && plan.piece({0, 0, array, 0, 0}).id.aggregator == aggregator;
  return (in_bundle ? 1 : 0) + units_of(plan, aggregator, array) * plan.units(array).most_parts();
}

// Returns piece `number` of the pieces_of() an array.
PieceId piece_number(const Plan& plan, std::int64_t aggregator, int array, std::int64_t number) {
  // An array that a bundle is named after has no units.
  if (plan.bundle(array) != nullptr) return plan.piece({0, 0, array, 0, 0}).id;
  const std::int64_t parts = plan.units(array).most_parts();
  PieceId id = plan.id_of(array, *plan.unit_at(aggregator, array, number / parts));
  id.part = number % parts;
  return id;
}

}  // namespace

std::int64_t units_of(const Plan& plan, std::int64_t aggregator, int array) {
  std::int64_t has = 0;
  std::int64_t end = plan.units(array).steps();
  while (has < end) {
    const std::int64_t middle = has + (end - has) / 2;
    if (plan.unit_at(aggregator, array, middle)) {
      has = middle + 1;
    } else {
      end = middle;
    }
  }
  return has;
}

std::vector<SampledPiece> piece_sample(const Plan& plan, std::int64_t aggregator,
                                       std::int64_t most) {
  std::int64_t all = 0;
  for (const int array : plan.scheduled()) all += pieces_of(plan, aggregator, array);
  const std::int64_t looked_at = std::min(most, all);
  std::vector<SampledPiece> sample;
  if (looked_at <= 0) return sample;
  sample.reserve(static_cast<std::size_t>(looked_at));
  const double times = static_cast<double>(all) / static_cast<double>(looked_at);
  // The pieces of all arrays one after the other; piece i of the sample is the one in the middle of
  // those that it stands for.
  std::int64_t before = 0;
  std::int64_t next = 0;
  for (const int array : plan.scheduled()) {
    const std::int64_t pieces = pieces_of(plan, aggregator, array);
    for (; next < looked_at; ++next) {
      // 2^62 pieces times a sample do not fit into 64 bits.
      const std::int64_t number = all / looked_at * next + all % looked_at * next / looked_at +
                                  all / looked_at / 2 - before;
      if (number >= pieces) break;
      sample.push_back({piece_number(plan, aggregator, array, number), times});
    }
    before += pieces;
  }
  return sample;
}

}  // namespace weir::plan
