#include "measurement/record_figures.hpp"

#include <array>

#include "common/clock.hpp"

namespace weir::bench {
namespace {

double rate(double bytes, double seconds) { return seconds > 0 ? bytes / seconds : 0; }

}  // namespace

RecordFigures record_figures(const Job& job, const PhaseRecord& record, const ClockOffset& offset) {
  const auto on_clock = [&](std::int64_t local_ns) { return local_ns + offset.offset_ns; };
  // The maximum gives the latest time of each; the maximum of the negative gives the earliest.
  const std::array<std::int64_t, 9> mine{on_clock(record.end_ns),
                                         -on_clock(record.start_ns),
                                         on_clock(record.opening_ns + record.open_ns),
                                         -on_clock(record.opening_ns),
                                         on_clock(record.closed_ns),
                                         -on_clock(record.closed_ns - record.close_ns),
                                         record.wall.elapsed_ns,
                                         record.wall.operations,
                                         -record.wall.operations};
  std::array<std::int64_t, 9> largest{};
  MPI_Reduce(mine.data(), largest.data(), static_cast<int>(mine.size()), MPI_INT64_T, MPI_MAX, 0,
             job.world);
  const double io_seconds = seconds_of(record.io_ns);
  const auto bytes = static_cast<double>(record.bytes);
  const std::array<double, 4> times{io_seconds, seconds_of(record.wait_ns),
                                    seconds_of(record.open_ns), seconds_of(record.close_ns)};
  const std::vector<Spread> spreads = spread_over_ranks(job, times);
  const std::array<double, 5> counts{
      bytes, static_cast<double>(record.operations), rate(bytes, io_seconds),
      static_cast<double>(record.wall.bytes), record.wall.reached ? 1.0 : 0.0};
  const std::vector<double> sums = sum_over_ranks(job, counts);

  RecordFigures figures;
  PhaseFigures& phase = figures.phase;
  const bool reading = record.direction == Direction::read;
  phase.key = {reading ? function_read : function_write, record.direction};
  if (job.rank != 0) return figures;
  phase.bytes = static_cast<std::int64_t>(sums[0]);  // exact below 2^53 bytes
  phase.operations = static_cast<std::int64_t>(sums[1]);
  phase.rate_sum_of_ranks = sums[2];
  phase.span_seconds = seconds_of(largest[0] + largest[1]);
  phase.rate_span = rate(sums[0], phase.span_seconds);
  phase.rate_slowest_rank = rate(sums[0], spreads[0].max);
  phase.rate_foreground = phase.rate_slowest_rank;
  phase.io_seconds = spreads[0];
  phase.foreground_seconds = spreads[0];
  phase.barrier_wait_seconds = spreads[1];
  figures.open_seconds = spreads[2];
  figures.close_seconds = spreads[3];
  figures.opening_seconds = seconds_of(largest[2] + largest[3]);
  figures.closing_seconds = seconds_of(largest[4] + largest[5]);
  figures.total_seconds = seconds_of(largest[4] + largest[3]);
  figures.wall = {.reached = sums[4] > 0,
                  .bytes = static_cast<std::int64_t>(sums[3]),
                  .seconds = seconds_of(largest[6]),
                  .operations_least = -largest[8],
                  .operations_most = largest[7]};
  return figures;
}

std::vector<TargetFigures> target_figures(const Job& job, const TargetFigures& mine,
                                          std::size_t target, std::size_t targets) {
  std::vector<std::int64_t> bytes(targets);
  std::vector<double> seconds(targets);
  bytes[target] = mine.bytes;
  seconds[target] = mine.io_seconds_max;
  std::vector<std::int64_t> all_bytes(targets);
  std::vector<double> slowest(targets);
  const int count = static_cast<int>(targets);
  MPI_Reduce(bytes.data(), all_bytes.data(), count, MPI_INT64_T, MPI_SUM, 0, job.world);
  MPI_Reduce(seconds.data(), slowest.data(), count, MPI_DOUBLE, MPI_MAX, 0, job.world);
  std::vector<TargetFigures> figures(targets);
  for (std::size_t i = 0; i < targets; ++i) figures[i] = {all_bytes[i], slowest[i]};
  return figures;
}

NodePhase node_figures(const Job& job, const PhaseRecord& record) {
  const double seconds = seconds_of(record.io_ns);
  NodePhase node;
  MPI_Reduce(&record.bytes, &node.bytes, 1, MPI_INT64_T, MPI_SUM, 0, job.node);
  MPI_Reduce(&seconds, &node.io_seconds_max, 1, MPI_DOUBLE, MPI_MAX, 0, job.node);
  return node;
}

}  // namespace weir::bench
