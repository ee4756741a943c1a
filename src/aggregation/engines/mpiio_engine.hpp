// MPI-IO as an engine: for file systems that an MPI library knows better than the kernel does, and
// to compare with.
#pragma once

#include <memory>

#include "storage/engines/engine.hpp"

namespace weir::aggregation {

// Each process opens its files alone (MPI_COMM_SELF) and moves a range by one MPI_File_write_at or
// read_at, its slices by a datatype of addresses. To be used by the thread that may call MPI,
// between MPI_Init and MPI_Finalize.
[[nodiscard]] std::unique_ptr<storage::Engine> make_mpiio_engine();

}  // namespace weir::aggregation
