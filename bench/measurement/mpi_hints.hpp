// MPI-IO hints: how the file is to be striped, and those of a file: one NAME = VALUE a line, `#`
// begins a comment. IOR's spelling, with IOR_HINT__MPI__ before the name, is understood too.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "storage/striping.hpp"

namespace weir::bench {

// An MPI_Info with the hints, freed at its end; MPI_INFO_NULL without any.
class MpiHints {
 public:
  // `path`: of the file with hints, which go before those of the striping; empty: none.
  static Result<MpiHints> read(const std::string& path, const storage::Striping& striping = {});
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
  void add(const char* name, std::int64_t value);
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace weir::bench
