// The file that tells a later run how much one with a stonewall has written of each rank's data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.hpp"

namespace weir::bench {

// The number in a file of --stonewall-file; nothing where there is no such file, as no stonewall
// was reached then.
Result<std::optional<std::int64_t>> read_stonewall_file(const std::string& file);

Status write_stonewall_file(const std::string& file, std::int64_t count);

}  // namespace weir::bench
