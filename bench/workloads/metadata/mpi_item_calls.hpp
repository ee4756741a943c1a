// What MPI-IO has of the calls on items, each by one rank alone (MPI_COMM_SELF). Every function
// returns 0 or what comes nearest among errno's values.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "workloads/metadata/action.hpp"

namespace weir::bench::metadata {

[[nodiscard]] bool mpi_can(Action action);

struct MpiItemCalls {
  // Opens, closes.
  [[nodiscard]] static int create(const char* path, bool exclusive);
  [[nodiscard]] static int open(const char* path, MPI_File* file);
  [[nodiscard]] static int close(MPI_File* file);
  [[nodiscard]] static int remove(const char* path);
  // Opens, sets the size, closes.
  [[nodiscard]] static int truncate(const char* path, std::int64_t bytes);
};

}  // namespace weir::bench::metadata
