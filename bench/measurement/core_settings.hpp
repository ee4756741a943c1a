// The settings that every workload shares: where and how often to run, and how carefully to check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/files_on_targets.hpp"
#include "measurement/repetition.hpp"
#include "system/durability.hpp"
#include "system/striping.hpp"

namespace weir::bench {

// Memory that a run takes from the page cache, per node.
struct OccupiedMemory {
  std::int64_t bytes = 0;
  double fraction = 0;  // of the node's available memory, if `bytes` is 0
  [[nodiscard]] bool empty() const { return bytes == 0 && fraction == 0; }
};

struct CoreSettings {
  std::string directory;  // the directory of the test files; exists
  // Absolute paths of the directories after the first, for workloads that distribute files to
  // several.
  std::vector<std::string> further_directories;
  std::string output;       // folder of the results; the run creates it
  std::string expectation;  // JSON file {slug: expectation}; empty if there is none
  bool progress_json = false;
  storage::Striping striping;  // of the test files
  FilesOnTargets targets;      // of the test files; empty: any
  storage::Durability durability = storage::Durability::full;
  bool direct = false;
  bool drop_cache = false;
  std::int64_t rank_shift = 0;
  OccupiedMemory memory_hog;
  bool verify = true;
  std::optional<std::uint64_t> seed;
  int compressible_percent = 0;
  RepetitionPolicy repetitions;
  double time_limit_seconds = 600;
  double deadline_seconds = 600;
};

struct PlanSettings {
  bool only = false;       // print what would be run, and run nothing
  bool elsewhere = false;  // the job is one on another machine
  std::optional<std::int64_t> ranks;
};

// Returns a workload's own declarations, followed by those of these settings. The members of
// `changes` that are not empty replace those of the shared settings of their names.
[[nodiscard]] std::vector<Setting> with_core_settings(std::vector<Setting> own,
                                                      const std::vector<Setting>& changes = {});
// Checks everything that can be checked without access to the directory.
[[nodiscard]] Result<CoreSettings> core_settings_of(const Settings& settings);
[[nodiscard]] PlanSettings plan_settings_of(const Settings& settings);
// Fails if a setting is given that applies to data only. For workloads that move none.
[[nodiscard]] Status refuse_data_settings(const CoreSettings& core, const char* workload);
// Fails if the directory does not exist or is not writable, or if files in it cannot have the
// striping. The error is one line that says how to proceed.
[[nodiscard]] Status check_directory(const std::string& directory,
                                     const storage::Striping& striping);

}  // namespace weir::bench
