// The ranks that take part in a repetition, and those of them that share a file.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace weir::bench::opening {

class Participants {
 public:
  // Collective over `everybody`, in which `sharers` consecutive ranks share a file. The object must
  // outlive all users of its communicators.
  Participants(MPI_Comm everybody, std::int64_t sharers);
  Participants(const Participants&) = delete;
  Participants& operator=(const Participants&) = delete;
  // Frees nothing, because after a failure the other ranks may be anywhere in the code.
  ~Participants() = default;
  // Frees the communicators. Collective.
  void free();

  MPI_Comm all;
  MPI_Comm file = MPI_COMM_NULL;
  int rank = 0;  // in `all`
  int ranks = 1;
  int place = 0;  // in `file`
  int places = 1;
  int number = 0;  // of the file, 0 ≤ number < files
  int files = 1;

  // Returns the path of this rank's file: `stem`, followed by the file's number if there are
  // several.
  [[nodiscard]] std::string path(const std::string& stem) const;
};

}  // namespace weir::bench::opening
