// The default chunks of an array, used if the user gave none and a format or a codec needs chunks.
#pragma once

#include <cstdint>
#include <optional>

#include "array/per_dimension.hpp"

namespace weir::array {

// A default chunk has at most this many bytes if possible.
inline constexpr std::int64_t wanted_chunk_bytes = std::int64_t{16} << 20;
// A default chunk may have up to this many bytes if a block is then a whole number of chunks.
inline constexpr std::int64_t most_chosen_chunk_bytes = std::int64_t{64} << 20;

// Returns the extents of chunks for an array of `extents` in `order` with elements of
// `element_bytes`. The chunks are small enough that several processes can encode and read different
// chunks at the same time, and large enough that each is worth an I/O call. `block` is the part of
// one rank, if it is known and equal for all ranks; then a block is a whole number of chunks, or a
// chunk a whole number of blocks, if the extents have suitable divisors. An array that fits into
// one chunk is one chunk; otherwise chunks are cut along the slowest dimensions, so that each has
// whole rows. The time grows with the number of dimensions and the logarithm of the extents.
[[nodiscard]] Indices suitable_chunks(const Indices& extents, Order order,
                                      std::int64_t element_bytes,
                                      const std::optional<Indices>& block = std::nullopt);

}  // namespace weir::array
