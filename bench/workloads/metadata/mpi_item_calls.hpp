// The calls on items that MPI-IO offers, each by one rank alone (MPI_COMM_SELF). Every function
// returns 0 or the nearest errno value.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "workloads/metadata/action.hpp"

namespace weir::bench::metadata {

[[nodiscard]] bool mpi_can(Action action);

// The content that is written to a file or read from it; all pieces use the same memory.
struct FileContent {
  char* memory = nullptr;
  std::int64_t memory_bytes = 0;
  std::int64_t bytes = 0;
  bool durable = false;  // after a write of at least one byte, calls MPI_File_sync
};

struct MpiItemCalls {
  // Opens, writes and closes. Returns `short_transfer` of item_calls.hpp if fewer bytes were moved.
  [[nodiscard]] static int create(const char* path, bool exclusive, const FileContent& content);
  [[nodiscard]] static int write(const char* path, const FileContent& content);
  // Opens, reads and closes.
  [[nodiscard]] static int read(const char* path, const FileContent& content);
  [[nodiscard]] static int open(const char* path, MPI_File* file);
  [[nodiscard]] static int close(MPI_File* file);
  [[nodiscard]] static int remove(const char* path);
  // Opens, sets the size and closes.
  [[nodiscard]] static int truncate(const char* path, std::int64_t bytes);
};

}  // namespace weir::bench::metadata
