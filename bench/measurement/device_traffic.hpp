// What the block devices under some directories have moved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/engines/transfer.hpp"

namespace weir::bench {

// Bytes in one direction since boot, each device counted once; nothing where one of them cannot be
// asked.
[[nodiscard]] std::optional<std::int64_t> moved_by_devices(
    const std::vector<std::string>& directories, Direction direction);

}  // namespace weir::bench
