// What MPI's error codes mean.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"

namespace weir::ranks {

// MPI's words for a code, on one line.
[[nodiscard]] std::string mpi_error_text(int code);

// The failure of a call on a file; with errno where the code's class tells it.
[[nodiscard]] Error mpi_failure(const char* operation, const std::string& file, std::int64_t offset,
                                int code);

}  // namespace weir::ranks
