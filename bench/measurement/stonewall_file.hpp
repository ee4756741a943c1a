// The file from which a later run learns how much data of each rank a run with a stonewall has
// written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"

namespace weir::bench {

// Returns the number in the file of --stonewall-file. Returns nothing if there is no such file,
// because then no stonewall was reached.
Result<std::optional<std::int64_t>> read_stonewall_file(const std::string& file);

Status write_stonewall_file(const std::string& file, std::int64_t count);

}  // namespace weir::bench
