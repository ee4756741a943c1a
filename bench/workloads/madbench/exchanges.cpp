#include "workloads/madbench/exchanges.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "workloads/madbench/schedule.hpp"

namespace weir::bench::madbench {
namespace {

struct Interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Returns the intervals in the order of their times, with those joined that meet or overlap.
std::vector<Interval> joined(std::vector<Interval> all) {
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  std::vector<Interval> apart;
  for (const Interval& one : all) {
    if (apart.empty() || one.start_ns > apart.back().end_ns) {
      apart.push_back(one);
    } else {
      apart.back().end_ns = std::max(apart.back().end_ns, one.end_ns);
    }
  }
  return apart;
}

// Returns how much of `one` the intervals cover, which are in order and apart.
std::int64_t covered_ns(const Interval& one, const std::vector<Interval>& by) {
  auto next = std::lower_bound(
      by.begin(), by.end(), one.start_ns,
      [](const Interval& interval, std::int64_t start_ns) { return interval.end_ns <= start_ns; });
  std::int64_t covered = 0;
  for (; next != by.end() && next->start_ns < one.end_ns; ++next) {
    covered += std::min(next->end_ns, one.end_ns) - std::max(next->start_ns, one.start_ns);
  }
  return covered;
}

void add(const Amount& amount, std::int64_t covered, Divided& to) {
  const bool mostly =
      static_cast<double>(covered) >= least_share_together * static_cast<double>(amount.ns);
  Amount& part = covered == 0 ? to.alone : mostly ? to.together : to.partly;
  part.bytes += amount.bytes;
  part.ns += amount.ns;
}

bool is_io(const Event& event) {
  return event.operation == Operation::read || event.operation == Operation::write ||
         event.operation == Operation::sync;
}

}  // namespace

OfRepetition divided(std::span<const Exchange> exchanges, std::span<const Event> events) {
  std::vector<Interval> moving;
  for (const Event& event : events) {
    if (is_io(event)) moving.push_back({event.start_ns, event.end_ns});
  }
  moving = joined(std::move(moving));
  OfRepetition found;
  std::vector<Interval> exchanging;
  for (const Exchange& one : exchanges) {
    const Interval interval{one.start_ns, one.end_ns};
    add({one.bytes, one.end_ns - one.start_ns}, covered_ns(interval, moving), found.messages);
    exchanging.push_back(interval);
  }
  exchanging = joined(std::move(exchanging));

  struct Transfer {
    Amount amount;
    std::int64_t covered = 0;
  };
  // A transfer and its sync are of the same matrix.
  std::map<std::pair<std::int8_t, std::int32_t>, Transfer> transfers;
  for (const Event& event : events) {
    if (!is_io(event) || event.function == static_cast<std::int8_t>(Function::W)) continue;
    Transfer& transfer = transfers[{event.function, event.bin}];
    transfer.amount.bytes += event.bytes;
    transfer.amount.ns += event.end_ns - event.start_ns;
    transfer.covered += covered_ns({event.start_ns, event.end_ns}, exchanging);
  }
  for (const auto& [place, transfer] : transfers) {
    const bool wrote = place.first == static_cast<std::int8_t>(Function::S);
    add(transfer.amount, transfer.covered, wrote ? found.writes : found.reads);
  }
  return found;
}

}  // namespace weir::bench::madbench
