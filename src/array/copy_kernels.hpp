// Kernels for one level of a copy: strided runs of one size, copied by the instructions that are
// best for that size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/copy.hpp"

namespace weir::array {

// Copies the runs of `level`, which have `size` >= 1 bytes each. `from` and `to` do not overlap.
void copy_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size);

// Returns whether stream_runs() is faster for these runs of a target that no cache holds.
[[nodiscard]] bool runs_can_stream(const std::byte* to, const CopyLevel& level, std::size_t size);
// Returns whether the result of runs_can_stream() stays the same when `to` grows by `to_stride`.
[[nodiscard]] bool runs_can_stream_by(std::int64_t to_stride);
// Copies runs past the caches: a cache line that is written as a whole is not read first. Call
// end_streaming() after the last call and before another thread reads the target.
void stream_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size);
// Copies `size` bytes as stream_runs() does, at any place. What is shorter than
// `least_streamed_bytes` passes through the caches, and so may both ends of what is longer.
void stream_bytes(const std::byte* from, std::byte* to, std::size_t size);
inline constexpr std::size_t least_streamed_bytes = 512;
void end_streaming();

}  // namespace weir::array
