// A set of indices of one dimension as equal blocks at a fixed stride; the first and the last block
// may be cut. A rank's indices in any HPF distribution, a strided section and an interval are such
// sets. The part of such a set inside an interval is again such a set, in closed form.
//
// clang-format off
//        origin
//        │<-length->│
//     ---[..########]-----[##########]-----[####......]---
//           │lower   <--- stride --->          │upper
// clang-format on
//
// Without cut blocks, such a set is a family of line segments (FALLS) of Ramaswamy and Banerjee
// (Frontiers '95) and a one-dimensional HDF5 hyperslab.
#pragma once

#include <cstdint>

#include "array/per_dimension.hpp"

namespace weir::array {

// The indices lower <= x < upper.
struct Interval {
  std::int64_t lower = 0;
  std::int64_t upper = 0;

  [[nodiscard]] std::int64_t size() const { return upper > lower ? upper - lower : 0; }
  [[nodiscard]] bool empty() const { return upper <= lower; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Blocks of one length: start + j × stride + [0, length) for j in [0, count).
struct UniformBlocks {
  std::int64_t start = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;  // meaningless if count is 1
  std::int64_t count = 0;

  friend bool operator==(const UniformBlocks&, const UniformBlocks&) = default;
};

// The class is immutable. Two sets of the same indices compare equal if they consist of one block
// or of none. All numbers have at most 62 bits.
class IndexBlocks {
 public:
  IndexBlocks() = default;  // no index
  static IndexBlocks interval(std::int64_t lower, std::int64_t upper);
  // Returns the blocks [first + j × stride, first + j × stride + length) for j >= 0, cut at `end`.
  // 1 <= length <= stride.
  static IndexBlocks periodic(std::int64_t first, std::int64_t length, std::int64_t stride,
                              std::int64_t end);
  // Returns the `count` indices start, start + stride, ….
  static IndexBlocks strided(std::int64_t start, std::int64_t count, std::int64_t stride);

  [[nodiscard]] bool empty() const { return upper_ == lower_; }
  // Return the least index, and the greatest plus 1. Both are 0 if the set is empty.
  [[nodiscard]] std::int64_t lower() const { return lower_; }
  [[nodiscard]] std::int64_t upper() const { return upper_; }
  // Returns where the first block would start if it were not cut.
  [[nodiscard]] std::int64_t origin() const { return origin_; }
  // Returns the length of an uncut block.
  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] std::int64_t stride() const { return stride_; }
  [[nodiscard]] bool is_interval() const { return upper_ - origin_ <= stride_; }

  [[nodiscard]] std::int64_t blocks() const;
  [[nodiscard]] Interval block(std::int64_t number) const;              // 0 <= number < blocks()
  [[nodiscard]] std::int64_t size() const { return position(upper_); }  // indices
  [[nodiscard]] bool contains(std::int64_t index) const;
  // Returns how many indices of the set are below `index`. If `index` is in the set, this is its
  // local index.
  [[nodiscard]] std::int64_t position(std::int64_t index) const;
  // Returns the index at a position in [0, size()). This is the inverse of position().
  [[nodiscard]] std::int64_t at(std::int64_t position) const;
  // Returns the indices of the set in [lower, upper).
  [[nodiscard]] IndexBlocks clipped(std::int64_t lower, std::int64_t upper) const;
  // Returns these indices as at most three sets of equal blocks, in ascending order: the cut first
  // block, the whole blocks, and the cut last block.
  [[nodiscard]] PerDimension<UniformBlocks, 3> uniform() const;

  friend bool operator==(const IndexBlocks&, const IndexBlocks&) = default;

 private:
  IndexBlocks(std::int64_t lower, std::int64_t upper, std::int64_t origin, std::int64_t length,
              std::int64_t stride);

  // Invariants of a set that is not empty: origin <= lower < origin + length; upper − 1 lies in a
  // block.
  // An interval has origin == lower and length == stride == upper − lower.
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
  std::int64_t origin_ = 0;
  std::int64_t length_ = 0;
  std::int64_t stride_ = 0;
};

}  // namespace weir::array
