// MPI-IO hints from a file: one NAME = VALUE a line, `#` begins a comment. IOR's spelling, with
// IOR_HINT__MPI__ before the name, is understood too.
#pragma once

#include <mpi.h>

#include <string>

#include "common/status.hpp"

namespace weir::bench::stream {

// An MPI_Info with the file's hints, freed at its end; MPI_INFO_NULL without a file.
class Hints {
 public:
  static Result<Hints> read(const std::string& path);  // empty: none
  Hints(Hints&& other) noexcept;
  Hints& operator=(Hints&&) = delete;
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;
  ~Hints();
  [[nodiscard]] MPI_Info info() const { return info_; }

 private:
  Hints() = default;
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace weir::bench::stream
