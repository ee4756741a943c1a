// Names the file that holds a rank's data: in the job's own directory, or at the targets that -o
// lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "workloads/stream/parameters.hpp"

namespace weir::bench::stream {

// One of the names in -o.
struct Target {
  std::string directory;  // absolute
  std::string file;       // the name in the directory; empty: the run chooses one
};

// Finds out which names are directories. Fails if a directory is missing. Changes nothing.
[[nodiscard]] Result<std::vector<Target>> targets_of(const Options& options);

class FileNames {
 public:
  // `test_directory` and `id` are the job's. They name the files if no target does.
  FileNames(const Options& options, const Variant& variant, std::vector<Target> targets,
            std::string test_directory, std::string id);

  // Returns the file of a rank's data. A shared file is the same for all ranks.
  [[nodiscard]] std::string path(std::int64_t rank, std::int64_t repetition) const;
  // Returns the directory that is created for the file with --unique-directories, otherwise an
  // empty string.
  [[nodiscard]] std::string own_directory(std::int64_t rank) const;
  // Returns the target of `rank` as an index into directories().
  [[nodiscard]] std::size_t target_of(std::int64_t rank) const;
  // Returns the targets' directories, or the job's own directory if there are no targets.
  [[nodiscard]] std::vector<std::string> directories() const;

 private:
  [[nodiscard]] const Target& target(std::int64_t rank) const;

  bool file_per_rank_;
  bool unique_directories_;
  bool multi_file_;
  std::vector<Target> targets_;
};

}  // namespace weir::bench::stream
