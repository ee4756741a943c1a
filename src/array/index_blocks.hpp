// Indices of one dimension as equal blocks at a fixed stride, the first and the last block perhaps
// cut. A rank's indices under any HPF distribution, a strided section and an interval are all such
// sets; cutting one to an interval gives such a set again, in closed form.
//
//        origin                                       Uncut, this is what Ramaswamy and Banerjee
//        │<-length->│                                 call a family of line segments (FALLS;
//     ---[..########]-----[##########]-----[####......]---    Frontiers '95) and HDF5 a hyperslab
//           │lower   <--- stride --->          │upper         in one dimension.
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

// Blocks that are all of one length: start + j × stride + [0, length) for j in [0, count).
struct UniformBlocks {
  std::int64_t start = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;  // without meaning when count is 1
  std::int64_t count = 0;

  friend bool operator==(const UniformBlocks&, const UniformBlocks&) = default;
};

// Immutable, and normal: sets of the same indices made of one block, or of none, are equal.
// All numbers are of at most 62 bits.
class IndexBlocks {
 public:
  IndexBlocks() = default;  // no index
  static IndexBlocks interval(std::int64_t lower, std::int64_t upper);
  // Blocks [first + j × stride, first + j × stride + length) for j >= 0, cut at `end`.
  // 1 <= length <= stride.
  static IndexBlocks periodic(std::int64_t first, std::int64_t length, std::int64_t stride,
                              std::int64_t end);
  // start, start + stride, …: `count` indices.
  static IndexBlocks strided(std::int64_t start, std::int64_t count, std::int64_t stride);

  [[nodiscard]] bool empty() const { return upper_ == lower_; }
  // The least index, and the greatest plus 1. Both 0 when empty.
  [[nodiscard]] std::int64_t lower() const { return lower_; }
  [[nodiscard]] std::int64_t upper() const { return upper_; }
  [[nodiscard]] std::int64_t origin() const { return origin_; }  // of the first block, uncut
  [[nodiscard]] std::int64_t length() const { return length_; }  // of an uncut block
  [[nodiscard]] std::int64_t stride() const { return stride_; }
  [[nodiscard]] bool is_interval() const { return upper_ - origin_ <= stride_; }

  [[nodiscard]] std::int64_t blocks() const;
  [[nodiscard]] Interval block(std::int64_t number) const;              // 0 <= number < blocks()
  [[nodiscard]] std::int64_t size() const { return position(upper_); }  // indices
  [[nodiscard]] bool contains(std::int64_t index) const;
  // How many of the set's indices are below `index`: for one of them, its local index.
  [[nodiscard]] std::int64_t position(std::int64_t index) const;
  // The index at a position in [0, size()): the inverse of position().
  [[nodiscard]] std::int64_t at(std::int64_t position) const;
  // The indices in [lower, upper).
  [[nodiscard]] IndexBlocks clipped(std::int64_t lower, std::int64_t upper) const;
  // These indices as at most three runs of equal blocks: the cut first block, the whole ones, the
  // cut last one. In ascending order.
  [[nodiscard]] PerDimension<UniformBlocks, 3> uniform() const;

  friend bool operator==(const IndexBlocks&, const IndexBlocks&) = default;

 private:
  IndexBlocks(std::int64_t lower, std::int64_t upper, std::int64_t origin, std::int64_t length,
              std::int64_t stride);

  // Invariants, unless empty: origin <= lower < origin + length; upper − 1 lies in a block.
  // An interval has origin == lower and length == stride == upper − lower.
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
  std::int64_t origin_ = 0;
  std::int64_t length_ = 0;
  std::int64_t stride_ = 0;
};

}  // namespace weir::array
