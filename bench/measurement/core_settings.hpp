// The settings that every workload shares: where and how often to run, and how carefully to check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/repetition.hpp"
#include "system/durability.hpp"
#include "system/striping.hpp"

namespace weir::bench {

struct CoreSettings {
  std::string directory;  // the directory of the test files; exists
  // Absolute paths of the directories after the first, for workloads that distribute files to
  // several.
  std::vector<std::string> further_directories;
  std::string output;       // folder of the results; the run creates it
  std::string expectation;  // JSON file {slug: expectation}; empty if there is none
  bool progress_json = false;
  storage::Striping striping;  // of the test files
  storage::Durability durability = storage::Durability::full;
  bool direct = false;
  bool drop_cache = false;
  std::int64_t rank_shift = 0;
  std::int64_t memory_hog_bytes = 0;  // per node
  double memory_hog_fraction = 0;     // of the node's available memory, per node
  bool verify = true;
  std::uint64_t seed = 0;
  bool seed_given = false;
  int compressible_percent = 0;
  RepetitionPolicy repetitions;
  double time_limit_seconds = 600;
  double deadline_seconds = 600;
};

[[nodiscard]] std::vector<Setting> core_declarations();
// Checks everything that can be checked without access to the directory.
[[nodiscard]] Result<CoreSettings> core_settings_of(const Settings& settings);
// Fails if the directory does not exist or is not writable, or if files in it cannot have the
// striping. The error is one line that says how to proceed.
[[nodiscard]] Status check_directory(const std::string& directory,
                                     const storage::Striping& striping);

}  // namespace weir::bench
