// Copies of elements between two layouts in memory, such as a rank's part, a chunk or a buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/box.hpp"
#include "array/layout.hpp"
#include "array/per_dimension.hpp"
#include "array/region.hpp"

namespace weir::array {

// Each dimension has at most two levels: its blocks, and the indices of a block.
inline constexpr int max_levels = 2 * max_dimensions;

struct CopyLevel {
  std::int64_t count = 0;        // >= 2
  std::int64_t from_stride = 0;  // bytes
  std::int64_t to_stride = 0;    // bytes

  friend bool operator==(const CopyLevel&, const CopyLevel&) = default;
};

// A copy that is planned once and executed any number of times. Each run is as long as both sides
// are contiguous. The target may also be a file; its runs then ascend.
struct StridedCopy {
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  std::int64_t bytes = 0;                      // bytes of one run; 0 if nothing is to be copied
  PerDimension<CopyLevel, max_levels> levels;  // the widest stride in the target first

  // Plans to copy the elements of `from_region` in the layout `from`, in their order, to those of
  // `to_region` in the layout `to`. Both regions have the same counts and lengths along each
  // dimension, and the layouts have the same element size. Neither region is empty.
  static StridedCopy between(const UniformRegion& from_region, const Layout& from,
                             const UniformRegion& to_region, const Layout& to);

  // `cached`: the target's bytes are used soon. `streamed`: they are too many to stay in a cache,
  // so they are written to memory past the caches if that is faster.
  enum class Target : std::uint8_t { cached, streamed };
  // Executes the copy. from_offset and to_offset count from `from` and `to`. The bytes read and the
  // bytes written do not overlap. The bytes of each number, which has `number_bytes` bytes (1, 2, 4
  // or 8), are reversed, which changes the byte order unless number_bytes is 1. number_bytes
  // divides `bytes`.
  void run(const std::byte* from, std::byte* to, Target target = Target::cached,
           std::int64_t number_bytes = 1) const;
  [[nodiscard]] std::int64_t runs() const;
};

// Copies the elements of a box of `extents` that both layouts contain. Its lower corner is
// `from_lower` in `from_layout` and `to_lower` in `to_layout`.
void copy_box(const Indices& extents, const std::byte* from, const Layout& from_layout,
              const Indices& from_lower, std::byte* to, const Layout& to_layout,
              const Indices& to_lower);

}  // namespace weir::array
