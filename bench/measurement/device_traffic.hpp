// Counts the bytes that the block devices under some directories have moved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/direction.hpp"

namespace weir::bench {

// Returns the bytes moved in one direction since boot; each device counts once. Returns nothing if
// the counters of one device cannot be read.
[[nodiscard]] std::optional<std::int64_t> moved_by_devices(
    const std::vector<std::string>& directories, Direction direction);

}  // namespace weir::bench
