// The hints of MPI-IO with which files were opened: those that were given, and those that MPI says
// are in effect.
//
// A rank notes the first file that a configuration opens for writing, and the first one that it
// opens for reading, because others of the same configuration are opened alike. Asking again would
// take time of openings that are measured.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace weir::bench {

class OpenedHints {
 public:
  // Says which configuration opens files from now on.
  void begin(std::size_t configuration) { current_ = configuration; }
  [[nodiscard]] bool lacks(bool writing) const;
  // `given` and `effective` may be MPI_INFO_NULL; both remain the caller's.
  void note(bool writing, MPI_Info given, MPI_Info effective);
  // Returns a list of `OpenedHints` of run.json (python/weir/results/schema.py).
  [[nodiscard]] nlohmann::ordered_json record(std::size_t configuration) const;

 private:
  using Hints = std::map<std::string, std::string>;
  struct Opening {
    Hints given;
    Hints effective;
  };
  static Hints hints_in(MPI_Info info);

  std::size_t current_ = 0;
  // By configuration; of the first file for reading, and of the first for writing.
  std::map<std::size_t, std::array<std::optional<Opening>, 2>> openings_;
};

}  // namespace weir::bench
