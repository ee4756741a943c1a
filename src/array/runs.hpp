// The bytes of a region as runs of equal length at nested strides: what is read, written or sent,
// without a list of them. Levels that step over exactly what lies inside them are merged, so a
// contiguous region is one run.
#pragma once

#include <cstdint>

#include "array/layout.hpp"
#include "array/odometer.hpp"
#include "array/per_dimension.hpp"
#include "array/region.hpp"

namespace weir::array {

// A dimension of blocks has two levels: its blocks, and the indices of a block.
inline constexpr int max_levels = 2 * max_dimensions;

struct RunLevel {
  std::int64_t count = 0;   // >= 2
  std::int64_t stride = 0;  // bytes; negative only where a Layout's is

  friend bool operator==(const RunLevel&, const RunLevel&) = default;
};

// Runs [at, at + bytes) with at = offset + Σ k[level] × stride[level], 0 <= k[level] <
// count[level].
struct Runs {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;                     // of one run; 0 when there is none
  PerDimension<RunLevel, max_levels> levels;  // the widest stride first

  // `region` is not empty and inside `layout`.
  static Runs of(const UniformRegion& region, const Layout& layout);

  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::int64_t total_bytes() const { return count() * bytes; }

  friend bool operator==(const Runs&, const Runs&) = default;
};

// The offsets of the runs one after the other, ascending where strides are positive and each level
// steps over those inside it, as in every packed layout.
class RunOffsets {
 public:
  explicit RunOffsets(const Runs& runs);
  // False when there is none left.
  bool next(std::int64_t& offset);

 private:
  Runs runs_;
  Odometer<max_levels> place_;
  std::int64_t offset_ = 0;
};

}  // namespace weir::array
