// Blocks of LZ4 by its library, for the codecs lz4 and bitshuffle. A build without the library
// encodes and decodes none.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace weir::storage {

// Both codecs begin with the bytes of the chunk (8) and of a block (4); each block follows its
// length.
inline constexpr std::size_t lz4_header_bytes = 12;
inline constexpr std::size_t lz4_length_bytes = 4;

// At least what encoding so many bytes takes.
[[nodiscard]] constexpr std::size_t most_by_lz4(std::size_t bytes) {
  return bytes + bytes / 255 + 16;
}

// The bytes written into `to`, or nothing where they have no room there; most_by_lz4() is enough.
// A block has at most 2,113,929,216 bytes (LZ4_MAX_INPUT_SIZE).
[[nodiscard]] std::optional<std::size_t> encode_lz4_block(std::span<const std::byte> from,
                                                          std::span<std::byte> to);

// The bytes written into `to`, or nothing where the block is damaged or decodes to more.
[[nodiscard]] std::optional<std::size_t> decode_lz4_block(std::span<const std::byte> from,
                                                          std::span<std::byte> to);

}  // namespace weir::storage
