// A latency histogram that merges exactly. Its buckets are log-linear with fixed bounds, 32 per
// octave.
//
// Bucket bounds are the same for every histogram, so merging adds counts, in any order, and a
// percentile of the merged histogram is the percentile of all samples to within one bucket (at most
// 1/32 of the value). The range from 64 ns to 2^42 ns (73 minutes) has 36 octaves, with 1152
// counters of 4 bytes, 4.6 KB. Shorter and longer samples count in the first and last bucket; the
// exact minimum and maximum are kept separately. A counter that reaches 2^32 - 1 stays there. One
// repetition of one rank cannot come near that limit. A caller that
// sums counters over ranks must make sure that the sums do not wrap (they do at a million samples
// per rank and bucket on about 4096 ranks).
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

  void record(std::int64_t nanoseconds);  // a negative duration counts as 0
  void merge(const LatencyHistogram& other);

  // Makes a histogram from counters that an MPI reduction has summed; `counts` has `buckets`
  // entries. The minimum and the maximum must not include empty histograms, whose min_ns() is 0.
  static LatencyHistogram from_counts(std::span<const std::uint32_t> counts, std::int64_t min_ns,
                                      std::int64_t max_ns);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t min_ns() const { return min_ns_; }  // 0 when empty
  [[nodiscard]] std::int64_t max_ns() const { return max_ns_; }
  // Returns the sample of rank ceil(fraction * count), with `fraction` from 0 to 1. The result is
  // the middle of the sample's bucket, clamped to [min, max], and exact for the smallest and the
  // largest sample. Returns 0 if the histogram is empty.
  [[nodiscard]] std::int64_t percentile_ns(double fraction) const;
  [[nodiscard]] std::span<const std::uint32_t> counts() const { return counts_; }
  // `bucket` is from 0 to `buckets`. A bucket's exclusive upper bound is the lower bound of the
  // next.
  [[nodiscard]] static std::int64_t lower_bound_ns(int bucket);
  [[nodiscard]] static int bucket_of(std::int64_t nanoseconds);

 private:
  std::array<std::uint32_t, buckets> counts_{};
  std::uint64_t count_ = 0;  // sum of counts_
  std::int64_t min_ns_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace weir::bench
