// A request of MPI for a transfer that has been carried out already.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace weir::takeover {

// Creates the request, which every function of MPI that completes requests takes. Its status has
// `bytes`. Returns MPI_SUCCESS or an error of MPI.
[[nodiscard]] int make_completed_request(std::int64_t bytes, MPI_Request* request);

// Sets what a status tells of a transfer.
void set_transferred(MPI_Status* status, std::int64_t bytes);

}  // namespace weir::takeover
