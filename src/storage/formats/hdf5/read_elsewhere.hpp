// What is in a file, read by another process: the library may crash on a file of others.
#pragma once

#include <optional>
#include <string>

#include "common/status.hpp"

namespace weir::storage {

// As a message of file_map_message.hpp, by `program` (find_trial_program()); by a fork of this
// process where that is nothing or cannot run.
[[nodiscard]] Result<std::string> read_hdf5_elsewhere(const std::optional<std::string>& program,
                                                      const std::string& path);

}  // namespace weir::storage
