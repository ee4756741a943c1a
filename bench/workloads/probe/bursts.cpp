#include "workloads/probe/bursts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir::bench::probe {

std::optional<double> bursts_seconds(std::span<const std::int64_t> done, double seconds) {
  const double place_seconds = seconds / static_cast<double>(done.size());
  const auto least_gap =
      static_cast<std::size_t>(std::max(2.0, std::ceil(least_gap_seconds / place_seconds)));
  std::optional<std::size_t> first;
  std::size_t last = 0;
  std::size_t gap = 0;   // points without a finished operation, up to here
  std::size_t gaps = 0;  // those of them between the first burst and the last
  for (std::size_t place = 0; place < done.size(); ++place) {
    if (done[place] == 0) {
      ++gap;
      continue;
    }
    if (gap >= least_gap) {
      if (first) gaps += gap;
      if (!first) first = place;
      last = place;
    }
    gap = 0;
  }
  if (!first || last == *first || 2 * gaps < last - *first) return std::nullopt;
  const auto all = std::accumulate(done.begin(), done.end(), std::int64_t{0});
  const auto between =
      std::accumulate(done.begin() + static_cast<std::ptrdiff_t>(*first),
                      done.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{0});
  if (4 * between < all) return std::nullopt;
  return static_cast<double>(last - *first) * place_seconds * static_cast<double>(all) /
         static_cast<double>(between);
}

}  // namespace weir::bench::probe
