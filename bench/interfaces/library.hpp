// The libraries whose interfaces are measured, and what their calls come to.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "interfaces/available.hpp"

namespace weir::bench {

enum class Library { hdf5, liburing, pnetcdf, weir };

// Whether this build has the library. Otherwise a line that says what to do; it begins with
// `option`, which asked for the library.
[[nodiscard]] Status check_library(Library library, const std::string& option);

// What a call to a library came to, where the build has it: its `code` is NetCDF's, or weir.h's.
// HDF5 keeps the reason for a failure on a stack of its own.
[[nodiscard]] Error hdf5_failure(const char* operation, const std::string& path,
                                 std::int64_t offset = -1);
[[nodiscard]] Status pnetcdf_outcome(const char* operation, const std::string& path, int code,
                                     std::int64_t offset = -1);
[[nodiscard]] Status weir_outcome(const char* operation, const std::string& path, int code);

}  // namespace weir::bench
