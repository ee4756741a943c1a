// MPI-IO as an engine: for file systems that an MPI library supports better than the kernel, and
// for comparisons.
#pragma once

#include <memory>

#include "engines/engine.hpp"

namespace weir::aggregation {

// Creates an engine that opens files in each process alone (MPI_COMM_SELF) and moves a range by one
// MPI_File_write_at or MPI_File_read_at, with a datatype of addresses for the slices. Only the
// thread that may call MPI may use it, between MPI_Init and MPI_Finalize.
[[nodiscard]] std::unique_ptr<storage::Engine> make_mpiio_engine();

}  // namespace weir::aggregation
