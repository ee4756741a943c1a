// CRC-32C (Castagnoli, RFC 3720), the checksum of Zarr's codec crc32c and of its shard indices. It
// runs at the speed of memory if the processor has an instruction for it (SSE 4.2, ARMv8), and at
// the speed of the L2 cache if the processor multiplies polynomials in wide registers (AVX-512).
// Other processors use a table. The method is chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::storage {

// Returns the checksum of bytes that follow others: crc32c(b, crc32c(a)) is the checksum of a
// followed by b.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

// Returns the checksum of a followed by b from the checksums of a and of b, which different threads
// or ranks may have computed.
[[nodiscard]] std::uint32_t crc32c_combined(std::uint32_t sum_a, std::uint32_t sum_b,
                                            std::int64_t bytes_b);

// Returns the checksum computed by the table, for tests.
[[nodiscard]] std::uint32_t crc32c_by_table(std::span<const std::byte> bytes,
                                            std::uint32_t before = 0);

}  // namespace weir::storage
