// MPI-IO hints: those that describe the striping, and those that a file lists. The file has one
// NAME = VALUE per line, and `#` begins a comment. IOR's spelling, with IOR_HINT__MPI__ before the
// name, is accepted too.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "common/status.hpp"
#include "system/striping.hpp"

namespace weir::bench {

// An MPI_Info with the hints, freed by the destructor. It is MPI_INFO_NULL without any hints.
class MpiHints {
 public:
  // `path` is the file with hints, which take precedence over those of the striping. It may be
  // empty.
  static Result<MpiHints> read(const std::string& path, const storage::Striping& striping = {});
  MpiHints(MpiHints&& other) noexcept;
  MpiHints& operator=(MpiHints&&) = delete;
  MpiHints(const MpiHints&) = delete;
  MpiHints& operator=(const MpiHints&) = delete;
  ~MpiHints();
  [[nodiscard]] MPI_Info info() const { return info_; }
  // Sets a hint to a number; 0 sets nothing.
  void set(const char* name, std::int64_t value);

 private:
  MpiHints() = default;
  void add(const char* name, std::int64_t value);
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace weir::bench
