// The libraries whose interfaces are measured, and the results of their calls.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "interfaces/available.hpp"

namespace weir::bench {

enum class Library { hdf5, liburing, pnetcdf, weir };

// Fails if this build lacks the library, with a line that says how to proceed. The line begins with
// `option`, the option that requested the library.
[[nodiscard]] Status check_library(Library library, const std::string& option);

// Returns the error of a failed call to a library that this build has. `code` is that of NetCDF. HDF5 keeps the reason for a failure on its own stack.
[[nodiscard]] Error hdf5_failure(const char* operation, const std::string& path,
                                 std::int64_t offset = -1);
[[nodiscard]] Status pnetcdf_outcome(const char* operation, const std::string& path, int code,
                                     std::int64_t offset = -1);

}  // namespace weir::bench
