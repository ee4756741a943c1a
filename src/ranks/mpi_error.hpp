// Translates MPI error codes.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"

namespace weir::ranks {

// Returns MPI's text for an error code, on one line.
[[nodiscard]] std::string mpi_error_text(int code);

// Returns the error of a failed call on a file, with the errno value that matches the code's error
// class, if there is one.
[[nodiscard]] Error mpi_failure(const char* operation, const std::string& file, std::int64_t offset,
                                int code);

}  // namespace weir::ranks
