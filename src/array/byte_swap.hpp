// Functions that reverse the bytes of numbers between memory, which is little-endian, and
// big-endian files. They use the widest instructions of the processor and are as fast as a copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/copy.hpp"

namespace weir::array {

// Copies `bytes` bytes and reverses the bytes of each number, which has `number_bytes` bytes.
// `from` and `to` are the same (in place) or do not overlap, and need not be aligned. number_bytes
// is 1 (a plain copy), 2, 4 or 8 and divides `bytes`; storage::bytes_swapped_together() returns it.
void copy_swapped(const std::byte* from, std::byte* to, std::int64_t bytes,
                  std::int64_t number_bytes);

// Perform one level of a copy like copy_runs() and stream_runs() (array/copy_kernels.hpp) and
// reverse the bytes of each number. number_bytes is 2, 4 or 8.
void swap_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size,
               std::int64_t number_bytes);
void stream_swapped_runs(const std::byte* from, std::byte* to, const CopyLevel& level,
                         std::size_t size, std::int64_t number_bytes);

}  // namespace weir::array
