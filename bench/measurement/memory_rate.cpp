#include "measurement/memory_rate.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "measurement/copies.hpp"

namespace weir::bench {

double memory_copy_rate(const Job& job) {
  constexpr std::int64_t bytes = std::int64_t{8} << 20;  // larger than the second-level cache
  constexpr int trials = 5;
  const std::vector<std::byte> source(bytes, std::byte{1});
  std::vector<std::byte> sink(bytes);
  double best = 0;
  for (int trial = 0; trial < trials; ++trial) {
    MPI_Barrier(job.world);
    const double seconds = seconds_of_a_copy(sink.data(), source.data(), bytes, 1);
    double slowest = 0;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, job.world);
    if (slowest > 0) best = std::max(best, static_cast<double>(bytes) * job.size / slowest);
  }
  return best;
}

}  // namespace weir::bench
