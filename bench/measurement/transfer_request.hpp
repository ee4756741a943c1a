// One contiguous piece of a file that a workload writes or reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/direction.hpp"
#include "system/durability.hpp"

namespace weir::bench {

struct TransferRequest {
  Direction direction = Direction::read;
  std::byte* buffer = nullptr;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;                                     // bytes from the start of the file
  storage::Durability durability = storage::Durability::none;  // writes only
};

}  // namespace weir::bench
