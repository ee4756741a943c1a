// MPI-IO as an engine: for file systems that an MPI library supports better than the kernel, and
// for comparisons.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>

#include "engines/engine.hpp"

namespace weir::aggregation {

// Creates an engine that opens files over `communicator`, collectively unless it is MPI_COMM_SELF,
// and moves a range by independent calls: MPI_File_write_at or MPI_File_read_at, with a datatype of
// addresses for several slices. Durability is MPI_File_sync, which is collective like opening and
// closing. A request in the background uses the nonblocking calls, which advance when the engine is
// polled, and is made durable by fsync in a thread, by each process alone. Only the thread that may
// call MPI may use the engine, between MPI_Init and MPI_Finalize. `opened` is called with each file
// that was opened, and whether that is for writing.
[[nodiscard]] std::unique_ptr<storage::Engine> make_mpiio_engine(
    MPI_Comm communicator = MPI_COMM_SELF, std::function<void(MPI_File, bool)> opened = {});

}  // namespace weir::aggregation
