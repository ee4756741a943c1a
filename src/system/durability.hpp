// Durability says how durable a write is before it counts as finished.
#pragma once

#include <cstdint>

namespace weir::storage {

enum class Durability : std::uint8_t {
  none,  // the data may stay in the page cache
  data,  // fdatasync: the data, and the metadata that is needed to read it
  full,  // fsync
};

}  // namespace weir::storage
