// The options of every workload that set how the test files are striped. Files get the striping
// from the folder that the job creates for them (run_folder.hpp), whatever interface creates them.
// MPI-IO also gets it as hints (mpi_hints.hpp).
#pragma once

#include <string>
#include <vector>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "system/striping.hpp"

namespace weir::bench {

[[nodiscard]] FieldSettings<storage::Striping> striping_table();
[[nodiscard]] Result<storage::Striping> striping_of(const Settings& settings);
// Returns the requested striping as arguments of a command line; empty if no striping is set.
[[nodiscard]] std::vector<std::string> striping_arguments(const storage::Striping& striping);
// Fails if files in the directory cannot have the striping, with one line that says how to proceed.
[[nodiscard]] Status check_striping(const std::string& directory,
                                    const storage::Striping& striping);
// Fails if a striping is set. For files that `option` places outside the job's folder.
[[nodiscard]] Status refuse_striping(const storage::Striping& striping, const char* option);

}  // namespace weir::bench
