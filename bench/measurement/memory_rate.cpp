#include "measurement/memory_rate.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/clock.hpp"

namespace weir::bench {

double memory_copy_rate(const Job& job) {
  constexpr std::size_t bytes = std::size_t{8} << 20;  // larger than the second-level cache
  constexpr int trials = 5;
  const std::vector<char> source(bytes, 1);
  std::vector<char> sink(bytes, 0);
  double best = 0;
  for (int trial = 0; trial < trials; ++trial) {
    MPI_Barrier(job.world);
    const std::int64_t start = monotonic_ns();
    std::memcpy(sink.data(), source.data(), bytes);
    // The copy must happen although nothing reads its result.
    asm volatile("" : : "r"(sink.data()) : "memory");
    const double seconds = seconds_of(monotonic_ns() - start);
    double slowest = 0;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, job.world);
    if (slowest > 0) best = std::max(best, static_cast<double>(bytes) * job.size / slowest);
  }
  return best;
}

}  // namespace weir::bench
