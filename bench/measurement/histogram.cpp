#include "measurement/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace weir::bench {
namespace {

constexpr std::uint32_t counter_limit = std::numeric_limits<std::uint32_t>::max();

}  // namespace

int LatencyHistogram::bucket_of(std::int64_t nanoseconds) {
  if (nanoseconds < lower_bound_ns(0)) return 0;
  const auto value = static_cast<std::uint64_t>(nanoseconds);
  const int octave = static_cast<int>(std::bit_width(value)) - 1;
  if (octave > last_octave) return buckets - 1;
  const int sub_bucket = static_cast<int>(value >> (octave - sub_bucket_bits)) - sub_buckets;
  return (octave - first_octave) * sub_buckets + sub_bucket;
}

std::int64_t LatencyHistogram::lower_bound_ns(int bucket) {
  const int octave = first_octave + bucket / sub_buckets;
  const std::int64_t sub_bucket = bucket % sub_buckets;
  return (sub_buckets + sub_bucket) << (octave - sub_bucket_bits);
}

void LatencyHistogram::record(std::int64_t nanoseconds) {
  nanoseconds = std::max<std::int64_t>(nanoseconds, 0);
  min_ns_ = count_ == 0 ? nanoseconds : std::min(min_ns_, nanoseconds);
  max_ns_ = count_ == 0 ? nanoseconds : std::max(max_ns_, nanoseconds);
  std::uint32_t& counter = counts_[static_cast<std::size_t>(bucket_of(nanoseconds))];
  if (counter == counter_limit) return;
  ++counter;
  ++count_;
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
  if (other.count_ == 0) return;
  min_ns_ = count_ == 0 ? other.min_ns_ : std::min(min_ns_, other.min_ns_);
  max_ns_ = count_ == 0 ? other.max_ns_ : std::max(max_ns_, other.max_ns_);
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    const std::uint32_t added = std::min(other.counts_[bucket], counter_limit - counts_[bucket]);
    counts_[bucket] += added;
    count_ += added;
  }
}

LatencyHistogram LatencyHistogram::from_counts(std::span<const std::uint32_t> counts,
                                               std::int64_t min_ns, std::int64_t max_ns) {
  LatencyHistogram histogram;
  std::ranges::copy(counts.first(histogram.counts_.size()), histogram.counts_.begin());
  for (const std::uint32_t counter : histogram.counts_) histogram.count_ += counter;
  if (histogram.count_ == 0) return histogram;
  histogram.min_ns_ = min_ns;
  histogram.max_ns_ = max_ns;
  return histogram;
}

std::int64_t LatencyHistogram::percentile_ns(double fraction) const {
  if (count_ == 0) return 0;
  const double position = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(position), 1, count_);
  if (rank == 1) return min_ns_;
  if (rank == count_) return max_ns_;
  std::uint64_t samples = 0;
  int bucket = 0;
  for (; bucket < buckets - 1; ++bucket) {
    samples += counts_[static_cast<std::size_t>(bucket)];
    if (samples >= rank) break;
  }
  const std::int64_t middle = (lower_bound_ns(bucket) + lower_bound_ns(bucket + 1)) / 2;
  return std::clamp(middle, min_ns_, max_ns_);
}

}  // namespace weir::bench
