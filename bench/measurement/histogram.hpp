// A latency histogram that merges exactly: log-linear buckets of fixed bounds, 32 per octave.
//
// Bucket bounds are the same for every histogram, so merging adds counts, in any order, and a
// percentile of the merged histogram is the percentile of all samples to within one bucket
// (at most 1/32 of the value). From 64 ns to 2^42 ns (73 minutes): 36 octaves, 1152 counters of 4
// bytes, 4.6 KB. Shorter and longer samples count in the first and last bucket; the exact minimum
// and maximum are kept beside. A counter that reaches 2^32 - 1 stays there and saturated() says so;
// one repetition of one rank cannot come near it, a sum over ranks that wraps must be avoided by
// whoever sums (at 4096 ranks, a million samples per rank and bucket).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace weir::bench {

class LatencyHistogram {
 public:
  static constexpr int sub_bucket_bits = 5;
  static constexpr int sub_buckets = 1 << sub_bucket_bits;
  static constexpr int first_octave = 6;  // 64 ns
  static constexpr int last_octave = 41;  // up to 2^42 ns
  static constexpr int buckets = (last_octave - first_octave + 1) * sub_buckets;

  void record(std::int64_t nanoseconds);  // a negative duration is none: counts as 0
  void merge(const LatencyHistogram& other);

  // A histogram from counters as an MPI reduction summed them; `counts` has `buckets` entries.
  // Minimum and maximum must leave empty histograms out, whose min_ns() is 0.
  static LatencyHistogram from_counts(std::span<const std::uint32_t> counts, std::int64_t min_ns,
                                      std::int64_t max_ns);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Whether a counter stands at its limit: the percentiles are no longer exact.
  [[nodiscard]] bool saturated() const;
  [[nodiscard]] std::int64_t min_ns() const { return min_ns_; }  // 0 when empty
  [[nodiscard]] std::int64_t max_ns() const { return max_ns_; }
  // The sample of rank ceil(fraction * count), fraction from 0 to 1: the middle of the bucket that
  // holds it, clamped to [min, max], and exact where it is the smallest or the largest. 0 when
  // empty.
  [[nodiscard]] std::int64_t percentile_ns(double fraction) const;
  [[nodiscard]] std::span<const std::uint32_t> counts() const { return counts_; }
  // bucket: 0 to `buckets`; a bucket's upper bound, exclusive, is the lower one of the next.
  [[nodiscard]] static std::int64_t lower_bound_ns(int bucket);
  [[nodiscard]] static int bucket_of(std::int64_t nanoseconds);

 private:
  std::array<std::uint32_t, buckets> counts_{};
  std::uint64_t count_ = 0;  // sum of counts_
  std::int64_t min_ns_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace weir::bench
