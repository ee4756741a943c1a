// What is kept beside a file of the bytes in it, to find out later whether they are still the same.
#pragma once

#include <cstdint>

namespace weir::storage {

enum class Checksum : std::uint8_t {
  none,
  crc32c,  // of every block, in PATH.sums
};

}  // namespace weir::storage
