// Encodes and decodes LZ4 blocks by the LZ4 library, for the codecs lz4 and bitshuffle. In a build
// without the library, these functions always return nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace weir::storage {

// Both codecs begin with the number of bytes of the chunk (8 bytes) and of a block (4 bytes). The
// length of each block precedes the block.
inline constexpr std::size_t lz4_header_bytes = 12;
inline constexpr std::size_t lz4_length_bytes = 4;

// Returns an upper bound of the number of bytes to which `bytes` bytes are encoded.
[[nodiscard]] constexpr std::size_t most_by_lz4(std::size_t bytes) {
  return bytes + bytes / 255 + 16;
}

// Returns the number of bytes written into `to`, or nothing if they do not fit; most_by_lz4() bytes
// are sufficient. A block has at most 2,113,929,216 bytes (LZ4_MAX_INPUT_SIZE).
[[nodiscard]] std::optional<std::size_t> encode_lz4_block(std::span<const std::byte> from,
                                                          std::span<std::byte> to);

// Returns the number of bytes written into `to`, or nothing if the block is damaged or the decoded
// bytes do not fit.
[[nodiscard]] std::optional<std::size_t> decode_lz4_block(std::span<const std::byte> from,
                                                          std::span<std::byte> to);

}  // namespace weir::storage
