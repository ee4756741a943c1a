// CRC-32C (Castagnoli, RFC 3720): the checksum of Zarr's codec of that name and of its shard
// indices. At the speed of memory where the processor has an instruction for it (SSE 4.2, ARMv8),
// of the second cache where it multiplies polynomials in wide registers (AVX-512), by a table
// elsewhere; which one is found out at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::storage {

// The checksum of bytes that follow others: crc32c(b, crc32c(a)) is the sum of a and b.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

// The sum of a and b from those of each: what several threads or ranks summed in parts.
[[nodiscard]] std::uint32_t crc32c_combined(std::uint32_t sum_a, std::uint32_t sum_b,
                                            std::int64_t bytes_b);

// The checksum by the table alone, for tests.
[[nodiscard]] std::uint32_t crc32c_by_table(std::span<const std::byte> bytes,
                                            std::uint32_t before = 0);

}  // namespace weir::storage
