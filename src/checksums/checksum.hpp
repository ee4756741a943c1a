// The kind of checksums that are kept beside a file, to find out later whether its bytes have
// changed.
#pragma once

#include <cstdint>

namespace weir::storage {

enum class Checksum : std::uint8_t {
  none,
  crc32c,  // crc32c of every block, in PATH.sums
};

}  // namespace weir::storage
