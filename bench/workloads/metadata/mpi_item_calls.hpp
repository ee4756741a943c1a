// What MPI-IO has of the calls on items, each by one rank alone (MPI_COMM_SELF). Every function
// returns 0 or what comes nearest among errno's values.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "workloads/metadata/action.hpp"

namespace weir::bench::metadata {

[[nodiscard]] bool mpi_can(Action action);

// What is written to a file or read from it, piece after piece in the same memory.
struct FileContent {
  char* memory = nullptr;
  std::int64_t memory_bytes = 0;
  std::int64_t bytes = 0;
  bool durable = false;  // written: with MPI_File_sync, if there are any
};

struct MpiItemCalls {
  // Opens, writes, closes; `short_transfer` of item_calls.hpp where fewer bytes were moved.
  [[nodiscard]] static int create(const char* path, bool exclusive, const FileContent& content);
  [[nodiscard]] static int write(const char* path, const FileContent& content);
  // Opens, reads, closes.
  [[nodiscard]] static int read(const char* path, const FileContent& content);
  [[nodiscard]] static int open(const char* path, MPI_File* file);
  [[nodiscard]] static int close(MPI_File* file);
  [[nodiscard]] static int remove(const char* path);
  // Opens, sets the size, closes.
  [[nodiscard]] static int truncate(const char* path, std::int64_t bytes);
};

}  // namespace weir::bench::metadata
