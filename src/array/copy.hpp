// Copying elements between two layouts in memory: a rank's part, a chunk, a buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/box.hpp"
#include "array/layout.hpp"
#include "array/per_dimension.hpp"
#include "array/region.hpp"
#include "array/runs.hpp"

namespace weir::array {

struct CopyLevel {
  std::int64_t count = 0;  // >= 2
  std::int64_t from_stride = 0;
  std::int64_t to_stride = 0;  // both in bytes

  friend bool operator==(const CopyLevel&, const CopyLevel&) = default;
};

// What to copy, worked out once and carried out any number of times. Runs are as long as both sides
// are contiguous. `to` may also be a file: its runs then ascend.
struct StridedCopy {
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  std::int64_t bytes = 0;                      // of one run; 0 when there is nothing to copy
  PerDimension<CopyLevel, max_levels> levels;  // the widest stride in the target first

  // The elements of `from_region` in the layout `from`, in their order, become those of
  // `to_region` in `to`. Both regions have the same counts and lengths along each dimension, the
  // layouts the same element size. Neither region is empty.
  static StridedCopy between(const UniformRegion& from_region, const Layout& from,
                             const UniformRegion& to_region, const Layout& to);

  // What becomes of the target's bytes: looked at soon, or first of all written to memory, as what
  // is larger than a cache. The latter go there past the caches where that is faster.
  enum class Target : std::uint8_t { cached, streamed };
  // Buffers that `from` and `to` bytes are counted from; they do not overlap where copied. The
  // bytes of each number of `number_bytes` (1, 2, 4 or 8) arrive in reverse order: for 1 as they
  // are, otherwise in the other byte order. It divides `bytes`.
  void run(const std::byte* from, std::byte* to, Target target = Target::cached,
           std::int64_t number_bytes = 1) const;
  [[nodiscard]] std::int64_t runs() const;
};

// Copies the elements of a box that both layouts hold: at `from_lower` in one and at `to_lower` in
// the other.
void copy_box(const Indices& extents, const std::byte* from, const Layout& from_layout,
              const Indices& from_lower, std::byte* to, const Layout& to_layout,
              const Indices& to_lower);

}  // namespace weir::array
