// Numbers of a few bytes as HDF5's filters lz4 and bitshuffle have them. For src/storage/codecs/
// alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::storage {

inline void put_big_endian(std::span<std::byte> to, std::uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    to[i] = static_cast<std::byte>(number >> (8 * (bytes - 1 - i)) & 0xFFU);
  }
}

[[nodiscard]] inline std::uint64_t big_endian_at(std::span<const std::byte> from,
                                                 std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    number = number << 8 | std::to_integer<std::uint64_t>(from[i]);
  }
  return number;
}

}  // namespace weir::storage
