// From every rank's events to the figures of a phase: reductions over the ranks, figures on rank 0.
//
// A phase is one function in one direction. An operation of a phase is a transfer with its durable
// sync. All functions here are collective over the job; "on rank 0" results are empty elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measurement/clock_offset.hpp"
#include "measurement/events.hpp"
#include "measurement/histogram.hpp"
#include "measurement/job.hpp"
#include "storage/engines/transfer.hpp"

namespace weir::bench {

// One figure over all ranks; the rank with the largest is named.
struct Spread {
  double min = 0;
  double mean = 0;
  double max = 0;
  int max_rank = 0;
};

// Spreads of several figures at once. On rank 0.
[[nodiscard]] std::vector<Spread> spread_over_ranks(const Job& job, std::span<const double> mine);
// The sum over all ranks of several figures at once. On rank 0.
[[nodiscard]] std::vector<double> sum_over_ranks(const Job& job, std::span<const double> mine);

struct PhaseKey {
  std::int8_t function = 0;
  Direction direction = Direction::read;
  friend bool operator==(const PhaseKey&, const PhaseKey&) = default;
};

// Rates are bytes per second; 0 where no time passed. Seconds in the spreads.
struct PhaseFigures {
  PhaseKey key;
  std::int64_t operations = 0;  // all ranks
  std::int64_t bytes = 0;       // all ranks
  double rate_span = 0;         // Σ over operations of (last end - first start), on rank 0's clock
  double rate_slowest_rank = 0;
  double rate_sum_of_ranks = 0;
  double rate_foreground = 0;  // EAAR, Borrill et al. section 5: by the slowest foreground time
  double span_seconds = 0;
  Spread io_seconds;
  Spread foreground_seconds;
  Spread barrier_wait_seconds;
  Spread token_wait_seconds;
};

// The figures of one phase in one repetition. `events` are this rank's, of that repetition.
// `offset` takes this rank's clock to rank 0's. Every rank has the same number of operations in a
// phase. On rank 0.
[[nodiscard]] PhaseFigures phase_figures(const Job& job, const PhaseKey& key,
                                         std::span<const Event> events, const ClockOffset& offset);

// When a rank acted in one phase, on its own clock.
struct ActivePeriod {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t paused_ns = 0;  // of the time between them, not measured
};
// Seconds from the first rank's start to the last rank's end, on rank 0's clock, less the shortest
// pause of a rank: ranks pause at different times, so only that long may all have paused at once.
// The span is never shorter than a rank's own measured time, so no rate over it is higher than the
// latencies allow. `mine` is null on a rank that did nothing. On rank 0; 0 where no rank acted.
[[nodiscard]] double span_over_ranks(const Job& job, const ActivePeriod* mine,
                                     const ClockOffset& offset);
// The span over the ranks of each node, which have one clock. On node leaders.
[[nodiscard]] double span_over_node(const Job& job, const ActivePeriod* mine);

// This rank's latencies of a phase: one sample per operation, from its start to its end.
void record_latencies(const PhaseKey& key, std::span<const Event> events,
                      LatencyHistogram& histogram);
// All ranks' histograms merged. On rank 0.
[[nodiscard]] LatencyHistogram merge_over_ranks(const Job& job, const LatencyHistogram& mine);

struct NodePhase {
  std::int64_t bytes = 0;
  double io_seconds_max = 0;  // of the node's slowest rank
};
// The phase by node: every node leader gets its node's figures, other ranks nothing useful.
[[nodiscard]] NodePhase node_phase(const Job& job, const PhaseKey& key,
                                   std::span<const Event> events);

// Host names, ranks and a fixed number of figures of every node. On rank 0, in node order.
struct NodeReport {
  std::string host;
  std::vector<int> ranks;
  std::vector<double> figures;
};
[[nodiscard]] std::vector<NodeReport> gather_nodes(const Job& job, std::span<const double> figures);

}  // namespace weir::bench
