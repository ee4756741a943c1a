// Names the file that a rank's data lie in: in the job's own directory, or at the targets that -o
// names.
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
  std::string file;       // the name in it; empty: the run gives one
};

// Looks which names are directories. Fails where a directory is missing. Touches nothing.
[[nodiscard]] Result<std::vector<Target>> targets_of(const Options& options);

class FileNames {
 public:
  // `test_directory` and `id` are the job's; they name the files where no target does.
  FileNames(const Options& options, const Variant& variant, std::vector<Target> targets,
            std::string test_directory, std::string id);

  // The file of a rank's data; in a shared file the same for all.
  [[nodiscard]] std::string path(std::int64_t rank, std::int64_t repetition) const;
  // The directory that is made for it with --unique-directories, otherwise empty.
  [[nodiscard]] std::string own_directory(std::int64_t rank) const;
  // The target of `rank`, as an index into directories().
  [[nodiscard]] std::size_t target_of(std::int64_t rank) const;
  // The targets' directories; the job's own without targets.
  [[nodiscard]] std::vector<std::string> directories() const;

 private:
  [[nodiscard]] const Target& target(std::int64_t rank) const;

  bool file_per_rank_;
  bool unique_directories_;
  bool multi_file_;
  std::vector<Target> targets_;
};

}  // namespace weir::bench::stream
