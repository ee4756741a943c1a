// Reduces the events of all ranks to the figures of a phase. The results are on rank 0.
//
// A phase is one function in one direction. An operation of a phase is a transfer together with its
// durable sync. All functions here are collective over the job unless their comment says otherwise.
// Where a comment says "on rank 0", the result is empty on the other ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/direction.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/events.hpp"
#include "measurement/histogram.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

// The distribution of one figure over all ranks, with the rank that has the largest value.
struct Spread {
  double min = 0;
  double mean = 0;
  double max = 0;
  int max_rank = 0;
};

// Returns the spreads of several figures at once. On rank 0.
[[nodiscard]] std::vector<Spread> spread_over_ranks(const Job& job, std::span<const double> mine);
// Returns the sums of several figures over all ranks. On rank 0.
[[nodiscard]] std::vector<double> sum_over_ranks(const Job& job, std::span<const double> mine);

struct PhaseKey {
  std::int8_t function = 0;
  Direction direction = Direction::read;
  friend bool operator==(const PhaseKey&, const PhaseKey&) = default;
};

// Rates are in bytes per second, and 0 where no time passed. Spreads are in seconds.
struct PhaseFigures {
  PhaseKey key;
  std::int64_t operations = 0;  // summed over all ranks
  std::int64_t bytes = 0;       // summed over all ranks
  // `rate_span` divides by Σ over operations of (last end - first start), on rank 0's clock.
  double rate_span = 0;
  double rate_slowest_rank = 0;
  double rate_sum_of_ranks = 0;
  // `rate_foreground` divides by the longest foreground time of a rank (EAAR in Borrill et al.,
  // section 5).
  double rate_foreground = 0;
  double span_seconds = 0;
  Spread io_seconds;
  Spread foreground_seconds;
  Spread barrier_wait_seconds;
  Spread token_wait_seconds;
};

// Returns the figures of one phase in one repetition, on rank 0. `events` are this rank's events of
// that repetition. `offset` converts this rank's clock to rank 0's. Every rank must have the same
// number of operations in the phase.
[[nodiscard]] PhaseFigures phase_figures(const Job& job, const PhaseKey& key,
                                         std::span<const Event> events, const ClockOffset& offset);

// The period during which a rank was active in one phase, on its own clock.
struct ActivePeriod {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t paused_ns = 0;  // the part of the period that is not measured
};
// Returns the seconds from the first rank's start to the last rank's end, on rank 0's clock, less
// the shortest pause of any rank. Ranks pause at different times, so all of them can have paused at
// once for no longer than that. The span is never shorter than a rank's own measured time, so no
// rate over it is higher than the latencies allow. `mine` is null on a rank that did nothing. The
// result is on rank 0; it is 0 if no rank was active.
[[nodiscard]] double span_over_ranks(const Job& job, const ActivePeriod* mine,
                                     const ClockOffset& offset);
// Returns the span over the ranks of each node, which share one clock. On node leaders.
[[nodiscard]] double span_over_node(const Job& job, const ActivePeriod* mine);

// Adds this rank's latencies of a phase to `histogram`: one sample per operation, from its start to
// its end. Local.
void record_latencies(const PhaseKey& key, std::span<const Event> events,
                      LatencyHistogram& histogram);
// Returns the merged histograms of all ranks. On rank 0.
[[nodiscard]] LatencyHistogram merge_over_ranks(const Job& job, const LatencyHistogram& mine);

struct NodePhase {
  std::int64_t bytes = 0;
  double io_seconds_max = 0;  // of the node's slowest rank
};
// Returns the phase's figures of one node. Each node leader gets those of its node; the result is
// meaningless on other ranks.
[[nodiscard]] NodePhase node_phase(const Job& job, const PhaseKey& key,
                                   std::span<const Event> events);

// Host name, ranks and a fixed number of figures of each node. On rank 0, in node order.
struct NodeReport {
  std::string host;
  std::vector<int> ranks;
  std::vector<double> figures;
};
[[nodiscard]] std::vector<NodeReport> gather_nodes(const Job& job, std::span<const double> figures);

}  // namespace weir::bench
