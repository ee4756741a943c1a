// One level of a copy: runs of one size at strides, by the instructions that suit their size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/copy.hpp"

namespace weir::array {

// Sides do not overlap. 1 <= size.
void copy_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size);

// Whether stream_runs() is faster for these runs of a target that no cache holds.
[[nodiscard]] bool runs_can_stream(const std::byte* to, const CopyLevel& level, std::size_t size);
// Whether that is still so when `to` has moved on by this.
[[nodiscard]] bool runs_can_stream_by(std::int64_t to_stride);
// Copies runs past the caches: a line that is written whole is then not read first. After the last
// call, and before another thread may look, end_streaming().
void stream_runs(const std::byte* from, std::byte* to, const CopyLevel& level, std::size_t size);
void end_streaming();

}  // namespace weir::array
