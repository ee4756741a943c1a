// What passes between a program and MPI-IO, without <mpi.h>, so that one library serves every MPI
// library of a 64-bit system in which arguments of up to 64 bits are passed in whole registers: a
// handle, which is a pointer in Open MPI and an int in MPICH and its relatives, is passed on as the
// 64 bits that came. MPI_File is a pointer in both.
#pragma once

#include <cstdint>

namespace weir::mpiio {

using Handle = std::uintptr_t;  // MPI_Comm, MPI_Datatype, MPI_Info, MPI_Errhandler
using File = std::uintptr_t;    // MPI_File
using Offset = std::int64_t;    // MPI_Offset
using Count = std::int64_t;     // MPI_Count
static_assert(sizeof(void*) == 8, "handles are passed on as 64 bits");

}  // namespace weir::mpiio
