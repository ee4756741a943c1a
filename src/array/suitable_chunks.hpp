// The chunks of an array for which nobody gave any, where a format or a codec wants some.
#pragma once

#include <cstdint>
#include <optional>

#include "array/per_dimension.hpp"

namespace weir::array {

// A chunk has at most this many bytes where that can be ...
inline constexpr std::int64_t wanted_chunk_bytes = std::int64_t{16} << 20;
// ... and at most this many where a block is then a whole number of chunks.
inline constexpr std::int64_t most_chosen_chunk_bytes = std::int64_t{64} << 20;

// Extents of chunks for an array of these extents, in this order of its dimensions, of elements of
// `element_bytes`. Small enough that several processes encode and read them side by side, large
// enough that each is worth a call. `block`: what one rank holds, if that is known and the same for
// all; a block is then a whole number of chunks, or a chunk a whole number of blocks, where the
// extents have divisors for it. An array that fits is one chunk; otherwise chunks are cut along the
// slowest dimensions, so that each has whole rows. Takes time that grows with the number of
// dimensions and the logarithm of the extents.
[[nodiscard]] Indices suitable_chunks(const Indices& extents, Order order,
                                      std::int64_t element_bytes,
                                      const std::optional<Indices>& block = std::nullopt);

}  // namespace weir::array
