// Reversing the bytes of numbers: between memory, which is little-endian, and files of the other
// byte order. As fast as copying, by the widest instructions that the processor has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/copy.hpp"

namespace weir::array {

// Copies `bytes` bytes, those of each number of `number_bytes` in reverse order. `from` and `to`
// are the same (in place) or do not overlap, and need not be aligned. number_bytes is 1 (a mere
// copy), 2, 4 or 8 and divides `bytes`: storage::bytes_swapped_together() gives it.
void copy_swapped(const std::byte* from, std::byte* to, std::int64_t bytes,
                  std::int64_t number_bytes);

// One level of a copy as copy_runs() and stream_runs() have it (array/copy_kernels.hpp), swapped on
// the way. number_bytes is 2, 4 or 8.
void swap_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size,
               std::int64_t number_bytes);
void stream_swapped_runs(const std::byte* from, std::byte* to, const CopyLevel& level,
                         std::size_t size, std::int64_t number_bytes);

}  // namespace weir::array
