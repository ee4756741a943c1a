// What errors of Weir are for the MPI library: a class that the program's call returns, or the
// reason for which the MPI library carries the call out.
#pragma once

#include "adapters/mpiio/take_over.hpp"
#include "common/status.hpp"

namespace weir::takeover {

// Returns the error class for what the storage has refused, by its errno.
[[nodiscard]] int class_of(int system_error);
[[nodiscard]] int class_of(const Error& error);
// Returns what becomes of a call that failed in Weir; the error is equal on all ranks. If the
// storage refused the bytes, the call fails: Open MPI 4.1.4 returns success on all ranks for some
// of the writes of which the storage has refused a part. All else may succeed in the MPI library.
[[nodiscard]] mpiio::Moved outcome_of(const Error& error);

}  // namespace weir::takeover
