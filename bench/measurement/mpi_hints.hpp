// MPI-IO hints from a file: one NAME = VALUE a line, `#` begins a comment. IOR's spelling, with
// IOR_HINT__MPI__ before the name, is understood too.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "common/status.hpp"

namespace weir::bench {

// An MPI_Info with the file's hints, freed at its end; MPI_INFO_NULL without a file.
class MpiHints {
 public:
  static Result<MpiHints> read(const std::string& path);  // empty: none
  MpiHints(MpiHints&& other) noexcept;
  MpiHints& operator=(MpiHints&&) = delete;
  MpiHints(const MpiHints&) = delete;
  MpiHints& operator=(const MpiHints&) = delete;
  ~MpiHints();
  [[nodiscard]] MPI_Info info() const { return info_; }
  // Adds a number; 0: nothing.
  void set(const char* name, std::int64_t value);

 private:
  MpiHints() = default;
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace weir::bench
