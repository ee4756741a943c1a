// The table that is printed at the end of a run: Weir's, mdtest's or metarates'. On rank 0.
#pragma once

#include <string>
#include <vector>

#include "workloads/metadata/results.hpp"

namespace weir::bench::metadata {

// Returns the table of one configuration.
[[nodiscard]] std::string weir_table(const std::string& label,
                                     const std::vector<ActionHistory>& rows);

// Says what mdtest reports of a job besides its figures.
struct MdtestHead {
  std::string began = {};  // in mdtest's format of times
  std::string finished = {};
  std::string path = {};
  std::string command = {};
  int ranks = 1;
  int nodes = 1;
  std::int64_t items = 0;  // files, or directories, of all ranks
  bool files = true;
  bool directories = true;
};
// Returns mdtest's SUMMARY: largest, smallest, mean and deviation over the iterations, of rates,
// seconds or both. Rates are mdtest's: over the time between the barriers.
[[nodiscard]] std::string mdtest_table(const MdtestHead& head,
                                       const std::vector<ActionHistory>& rows, bool rates,
                                       bool times);

// Says what metarates reports of a job besides its figures.
struct MetaratesHead {
  std::string path = {};
  int ranks = 1;
  std::int64_t files_per_rank = 0;
  bool unique_directories = false;
};
// Returns the creates (with their closes), utimes and stats per second of all tasks: over the time
// of the slowest task, and as the sum of the tasks' own rates. They are medians over the
// repetitions.
[[nodiscard]] std::string metarates_table(const MetaratesHead& head,
                                          const std::vector<ActionHistory>& rows);

}  // namespace weir::bench::metadata
