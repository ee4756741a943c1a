// A piece of a block that goes over UCX (ucx.hpp): the header of its active message, and its
// checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/messages.hpp"

namespace weir::transport {

// What the header of a piece says.
struct UcxPiece {
  Nonce token{};
  std::int64_t block = 0;
  bool at_end = false;         // as in BlockBytes
  std::int64_t before = 0;     // bytes of the same part of the block that were sent before
  std::int64_t total = 0;      // bytes that the block gets in all, of both parts
  std::uint32_t checksum = 0;  // see checksum_of()
};

// Bytes of one active message: they stay in the caches of both sides' processors.
inline constexpr std::int64_t ucx_piece_bytes = std::int64_t{64} << 10;

using UcxHeader = std::array<std::byte, 16 + 8 + 1 + 8 + 8 + 4>;

[[nodiscard]] UcxHeader header_of(const UcxPiece& piece);
// Returns nothing if these bytes are no header.
[[nodiscard]] std::optional<UcxPiece> piece_of(std::span<const std::byte> header);

// Returns the CRC-32C of the header without its checksum, and of the bytes of the piece. A network
// checks its own packets at most, and neither the adapters nor the copies that UCX makes.
[[nodiscard]] std::uint32_t checksum_of(const UcxPiece& piece, std::span<const std::byte> bytes);

}  // namespace weir::transport
