// The bytes of a region that are read, written or sent, as runs of equal length at nested strides
// instead of a list. A level whose stride equals the bytes that the levels inside it span is merged
// with them, so a contiguous region is one run.
#pragma once

#include <cstdint>

#include "array/layout.hpp"
#include "array/odometer.hpp"
#include "array/per_dimension.hpp"
#include "array/region.hpp"

namespace weir::array {

// Each dimension has at most two levels: its blocks, and the indices of a block.
inline constexpr int max_levels = 2 * max_dimensions;

struct RunLevel {
  std::int64_t count = 0;   // >= 2
  std::int64_t stride = 0;  // bytes; negative only if the Layout's stride is

  friend bool operator==(const RunLevel&, const RunLevel&) = default;
};

// Runs [at, at + bytes) with at = offset + Σ k[level] × stride[level], 0 <= k[level] <
// count[level].
struct Runs {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;                     // bytes of one run; 0 if there is no run
  PerDimension<RunLevel, max_levels> levels;  // the widest stride first

  // `region` is not empty and lies inside `layout`.
  static Runs of(const UniformRegion& region, const Layout& layout);

  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::int64_t total_bytes() const { return count() * bytes; }

  friend bool operator==(const Runs&, const Runs&) = default;
};

// Iterates over the offsets of the runs. They ascend if all strides are positive and each level's
// stride steps over everything inside that level, as in every packed layout.
class RunOffsets {
 public:
  explicit RunOffsets(const Runs& runs);
  // Returns false when no run is left.
  bool next(std::int64_t& offset);

 private:
  Runs runs_;
  Odometer<max_levels> place_;
  std::int64_t offset_ = 0;
};

}  // namespace weir::array
