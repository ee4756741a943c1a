// Test files in several directories, each of which is a storage target of its own. Of O
// directories, the file of rank r is in number r mod O.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/direction.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/record_figures.hpp"
#include "measurement/series.hpp"

namespace weir::bench {

// Returns the directories of --directory as absolute paths if it names several, separated by
// commas; otherwise nothing. Fails if one has no name or is given twice. Does not look at them.
[[nodiscard]] Result<std::vector<std::string>> directories_of(const Settings& settings,
                                                              std::string_view workload);

// Returns the ranks whose files are in a directory.
[[nodiscard]] std::vector<std::int64_t> ranks_of_directory(std::size_t directory,
                                                           std::size_t directories,
                                                           std::int64_t ranks);

// The part of each directory in the phases of a run, over its counted repetitions. On rank 0.
class TargetSeries {
 public:
  explicit TargetSeries(std::vector<std::string> directories)
      : directories_(std::move(directories)) {}

  // Adds a phase; phases have numbers in the order in which they are added.
  void add_phase(std::string_view function, Direction direction);
  // Adds the figures of all directories in a phase of a counted repetition.
  void add(std::size_t phase, const std::vector<TargetFigures>& figures);

  [[nodiscard]] std::size_t directories() const { return directories_.size(); }
  // Returns the record "targets" of run.json; it is empty for a single directory.
  [[nodiscard]] nlohmann::ordered_json to_json(std::int64_t ranks) const;

 private:
  struct Target {
    std::int64_t bytes = 0;     // in the last repetition
    double io_seconds_max = 0;  // of the slowest rank, over the repetitions
    Series rates{Unit::bytes_per_second};
  };
  struct Phase {
    std::string function;
    Direction direction = Direction::write;
    std::vector<Target> targets = {};
  };

  std::vector<std::string> directories_;
  std::vector<Phase> phases_;
};

}  // namespace weir::bench
