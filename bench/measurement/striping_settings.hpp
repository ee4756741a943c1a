// How the test files are to lie on their storage: options that every workload has. Files get the
// layout from the folder that the job makes for them (run_folder.hpp), by whichever interface they
// are made; MPI-IO gets it as hints too (mpi_hints.hpp).
#pragma once

#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "storage/striping.hpp"

namespace weir::bench {

[[nodiscard]] std::vector<Setting> striping_declarations();
[[nodiscard]] Result<storage::Striping> striping_of(const Settings& settings);
// The striping that was asked for, as arguments of a command line; empty: none.
[[nodiscard]] std::vector<std::string> striping_arguments(const storage::Striping& striping);
// Whether files in the directory can have the layout: one line that says what to do otherwise.
[[nodiscard]] Status check_striping(const std::string& directory,
                                    const storage::Striping& striping);
// For files that do not lie in the job's folder, but where `option` says: refuses a layout.
[[nodiscard]] Status refuse_striping(const storage::Striping& striping, const char* option);

}  // namespace weir::bench
