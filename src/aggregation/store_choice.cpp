#include "aggregation/store_choice.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace weir::aggregation {
namespace {

// Shorter copies tell little about the ways, and cost little with either.
constexpr std::int64_t least_bytes = 16 << 10;
// The cached way may take longer by this factor, since the next reader finds the data in a cache.
constexpr double cached_is_worth = 1.5;
constexpr int copies_between_rarest_tries = 384;
// A try has found nothing new if its cost is within this share of the known one.
constexpr double nothing_new = 0.5;
constexpr double share_of_the_newest = 0.4;
// A single slow copy, whose memory other programs drove out of the caches, does not change the way.
constexpr double share_of_the_newest_if_slower = 0.25;

}  // namespace

StoreChoice::Target StoreChoice::faster() const {
  const double cached = cost_[static_cast<std::size_t>(Target::cached)];
  const double streamed = cost_[static_cast<std::size_t>(Target::streamed)];
  if (cached == 0) return Target::cached;
  if (streamed == 0) return Target::streamed;
  return cached <= cached_is_worth * streamed ? Target::cached : Target::streamed;
}

StoreChoice::Next StoreChoice::next(std::int64_t bytes) {
  if (bytes < least_bytes) return {};
  const Target way = faster();
  if (++since_tried_ >= between_tries_) {
    since_tried_ = 0;
    return {way == Target::cached ? Target::streamed : Target::cached, true};
  }
  const bool is_known = cost_[static_cast<std::size_t>(way)] != 0;
  if (is_known && ++since_timed_ < between_timings) return {way, false};
  since_timed_ = 0;
  return {way, true};
}

void StoreChoice::took(Target way, std::int64_t bytes, std::int64_t nanoseconds) {
  const double cost = static_cast<double>(nanoseconds) / static_cast<double>(bytes);
  double& known = cost_[static_cast<std::size_t>(way)];
  if (known != 0 && way != faster()) {
    const bool is_new = std::abs(cost - known) > nothing_new * known;
    between_tries_ =
        is_new ? least_between_tries : std::min(2 * between_tries_, copies_between_rarest_tries);
  }
  const double share = cost > known ? share_of_the_newest_if_slower : share_of_the_newest;
  known = known == 0 ? cost : known + share * (cost - known);
}

std::int64_t processor_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

}  // namespace weir::aggregation
