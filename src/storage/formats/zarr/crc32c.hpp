// CRC-32C (Castagnoli, RFC 3720), the checksum of Zarr's shard indices. These are small; a table is
// fast enough.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::storage {

[[nodiscard]] inline std::uint32_t crc32c(std::span<const std::byte> bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t rest = i;
      for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82F63B78U : 0U);
      made[i] = rest;
    }
    return made;
  }();
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const std::byte one : bytes) {
    sum = (sum >> 8) ^ table[(sum ^ static_cast<std::uint32_t>(one)) & 0xFFU];
  }
  return ~sum;
}

}  // namespace weir::storage
