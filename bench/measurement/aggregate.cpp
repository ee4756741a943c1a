#include "measurement/aggregate.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "common/clock.hpp"

namespace weir::bench {
namespace {

bool belongs(const PhaseKey& key, const Event& event) {
  if (event.function != key.function) return false;
  return key.direction == Direction::read
             ? event.operation == Operation::read
             : event.operation == Operation::write || event.operation == Operation::sync;
}

struct OneOperation {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t io_ns = 0;  // the transfer and its sync, without a barrier between them
};

// A sync event belongs to the write before it.
std::vector<OneOperation> operations_of(const PhaseKey& key, std::span<const Event> events) {
  std::vector<OneOperation> operations;
  for (const Event& event : events) {
    if (!belongs(key, event)) continue;
    const std::int64_t duration = event.end_ns - event.start_ns;
    if (event.operation == Operation::sync && !operations.empty()) {
      operations.back().end_ns = event.end_ns;
      operations.back().io_ns += duration;
    } else {
      operations.push_back({event.start_ns, event.end_ns, duration});
    }
  }
  return operations;
}

// Returns the sum over operations of (last end - first start) over all ranks. On rank 0.
double span_seconds(const Job& job, std::span<const OneOperation> operations,
                    const ClockOffset& offset) {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  for (const OneOperation& operation : operations) {
    starts.push_back(operation.start_ns + offset.offset_ns);
    ends.push_back(operation.end_ns + offset.offset_ns);
  }
  const int count = static_cast<int>(operations.size());
  std::vector<std::int64_t> first(operations.size());
  std::vector<std::int64_t> last(operations.size());
  MPI_Reduce(starts.data(), first.data(), count, MPI_INT64_T, MPI_MIN, 0, job.world);
  MPI_Reduce(ends.data(), last.data(), count, MPI_INT64_T, MPI_MAX, 0, job.world);
  double seconds = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) seconds += seconds_of(last[i] - first[i]);
  return job.rank == 0 ? seconds : 0;
}

double rate(double bytes, double seconds) { return seconds > 0 ? bytes / seconds : 0; }

}  // namespace

std::vector<Spread> spread_over_ranks(const Job& job, std::span<const double> mine) {
  const int count = static_cast<int>(mine.size());
  std::vector<double> low(mine.size());
  const std::vector<double> sums = sum_over_ranks(job, mine);
  struct Located {
    double value;
    int rank;
  };
  std::vector<Located> located(mine.size());
  std::vector<Located> largest(mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) located[i] = {mine[i], job.rank};
  MPI_Reduce(mine.data(), low.data(), count, MPI_DOUBLE, MPI_MIN, 0, job.world);
  MPI_Reduce(located.data(), largest.data(), count, MPI_DOUBLE_INT, MPI_MAXLOC, 0, job.world);
  std::vector<Spread> spreads;
  if (job.rank != 0) return spreads;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    // Summation rounds, so the mean of equal figures may be slightly outside their range.
    const double mean = std::clamp(sums[i] / job.size, low[i], largest[i].value);
    spreads.push_back({low[i], mean, largest[i].value, largest[i].rank});
  }
  return spreads;
}

std::vector<double> sum_over_ranks(const Job& job, std::span<const double> mine) {
  std::vector<double> sums(mine.size());
  MPI_Reduce(mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM, 0,
             job.world);
  return sums;
}

PhaseFigures phase_figures(const Job& job, const PhaseKey& key, std::span<const Event> events,
                           const ClockOffset& offset) {
  const std::vector<OneOperation> operations = operations_of(key, events);
  std::int64_t io_ns = 0;
  for (const OneOperation& operation : operations) io_ns += operation.io_ns;
  std::int64_t foreground_ns = 0;
  std::int64_t barrier_ns = 0;
  std::int64_t token_ns = 0;
  std::int64_t bytes = 0;
  for (const Event& event : events) {
    if (!belongs(key, event)) continue;
    foreground_ns += event.foreground_ns;
    barrier_ns += event.barrier_wait_ns;
    token_ns += event.token_wait_ns;
    bytes += event.bytes;
  }
  const std::array<double, 4> seconds{seconds_of(io_ns), seconds_of(foreground_ns),
                                      seconds_of(barrier_ns), seconds_of(token_ns)};
  const std::vector<Spread> spreads = spread_over_ranks(job, seconds);
  const std::array<double, 3> mine{static_cast<double>(bytes),
                                   static_cast<double>(operations.size()),
                                   rate(static_cast<double>(bytes), seconds[0])};
  const std::vector<double> sums = sum_over_ranks(job, mine);
  const double span = span_seconds(job, operations, offset);

  PhaseFigures figures;
  figures.key = key;
  if (job.rank != 0) return figures;
  figures.bytes = static_cast<std::int64_t>(sums[0]);  // exact below 2^53 bytes
  figures.operations = static_cast<std::int64_t>(sums[1]);
  figures.rate_sum_of_ranks = sums[2];
  figures.span_seconds = span;
  figures.rate_span = rate(sums[0], span);
  figures.rate_slowest_rank = rate(sums[0], spreads[0].max);
  figures.rate_foreground = rate(sums[0], spreads[1].max);
  figures.io_seconds = spreads[0];
  figures.foreground_seconds = spreads[1];
  figures.barrier_wait_seconds = spreads[2];
  figures.token_wait_seconds = spreads[3];
  return figures;
}

namespace {

double span_over(MPI_Comm ranks, bool tells, const ActivePeriod* mine, std::int64_t offset_ns) {
  // One reduction finds the maximum of three values: the last end, and the negated first start and
  // shortest pause.
  std::array<std::int64_t, 3> own{};
  own.fill(std::numeric_limits<std::int64_t>::min());
  if (mine != nullptr) {
    own = {mine->end_ns + offset_ns, -(mine->start_ns + offset_ns), -mine->paused_ns};
  }
  std::array<std::int64_t, 3> largest{};
  MPI_Reduce(own.data(), largest.data(), 3, MPI_INT64_T, MPI_MAX, 0, ranks);
  if (!tells || largest[0] == std::numeric_limits<std::int64_t>::min()) return 0;
  return seconds_of(largest[0] + largest[1] + largest[2]);
}

}  // namespace

double span_over_ranks(const Job& job, const ActivePeriod* mine, const ClockOffset& offset) {
  return span_over(job.world, job.rank == 0, mine, offset.offset_ns);
}

double span_over_node(const Job& job, const ActivePeriod* mine) {
  return span_over(job.node, job.node_rank == 0, mine, 0);
}

void record_latencies(const PhaseKey& key, std::span<const Event> events,
                      LatencyHistogram& histogram) {
  for (const OneOperation& operation : operations_of(key, events)) {
    histogram.record(operation.io_ns);
  }
}

LatencyHistogram merge_over_ranks(const Job& job, const LatencyHistogram& mine) {
  std::vector<std::uint32_t> counts(LatencyHistogram::buckets);
  MPI_Reduce(mine.counts().data(), counts.data(), LatencyHistogram::buckets, MPI_UINT32_T, MPI_SUM,
             0, job.world);
  // The minimum of an empty histogram must not win.
  const std::int64_t least =
      mine.count() > 0 ? mine.min_ns() : std::numeric_limits<std::int64_t>::max();
  const std::int64_t most = mine.max_ns();
  std::int64_t min_ns = 0;
  std::int64_t max_ns = 0;
  MPI_Reduce(&least, &min_ns, 1, MPI_INT64_T, MPI_MIN, 0, job.world);
  MPI_Reduce(&most, &max_ns, 1, MPI_INT64_T, MPI_MAX, 0, job.world);
  if (job.rank != 0) return {};
  if (min_ns == std::numeric_limits<std::int64_t>::max()) min_ns = 0;
  return LatencyHistogram::from_counts(counts, min_ns, max_ns);
}

NodePhase node_phase(const Job& job, const PhaseKey& key, std::span<const Event> events) {
  std::int64_t bytes = 0;
  double seconds = 0;
  for (const OneOperation& operation : operations_of(key, events)) {
    seconds += seconds_of(operation.io_ns);
  }
  for (const Event& event : events) {
    if (belongs(key, event)) bytes += event.bytes;
  }
  NodePhase node;
  MPI_Reduce(&bytes, &node.bytes, 1, MPI_INT64_T, MPI_SUM, 0, job.node);
  MPI_Reduce(&seconds, &node.io_seconds_max, 1, MPI_DOUBLE, MPI_MAX, 0, job.node);
  return node;
}

std::vector<NodeReport> gather_nodes(const Job& job, std::span<const double> figures) {
  std::vector<NodeReport> nodes;
  if (job.node_rank != 0) return nodes;
  constexpr std::size_t host_bytes = 256;
  std::array<char, host_bytes> host{};
  job.host.copy(host.data(), host_bytes - 1);
  const auto count = static_cast<std::size_t>(job.nodes);
  const int figure_count = static_cast<int>(figures.size());
  std::vector<char> hosts(count * host_bytes);
  std::vector<double> all(count * figures.size());
  std::vector<int> sizes(count);
  MPI_Gather(host.data(), host_bytes, MPI_CHAR, hosts.data(), host_bytes, MPI_CHAR, 0, job.leaders);
  MPI_Gather(figures.data(), figure_count, MPI_DOUBLE, all.data(), figure_count, MPI_DOUBLE, 0,
             job.leaders);
  MPI_Gather(&job.node_size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, job.leaders);
  std::vector<int> places(count);
  std::vector<int> ranks;
  if (job.rank == 0) {
    for (std::size_t i = 1; i < count; ++i) places[i] = places[i - 1] + sizes[i - 1];
    ranks.resize(static_cast<std::size_t>(job.size));
  }
  MPI_Gatherv(job.node_world_ranks.data(), job.node_size, MPI_INT, ranks.data(), sizes.data(),
              places.data(), MPI_INT, 0, job.leaders);
  if (job.rank != 0) return nodes;
  for (std::size_t i = 0; i < count; ++i) {
    NodeReport node;
    node.host = hosts.data() + i * host_bytes;
    node.ranks.assign(ranks.begin() + places[i], ranks.begin() + places[i] + sizes[i]);
    node.figures.assign(all.begin() + static_cast<std::ptrdiff_t>(i * figures.size()),
                        all.begin() + static_cast<std::ptrdiff_t>((i + 1) * figures.size()));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace weir::bench
