// The settings that every workload shares: where, how often, how careful.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/repetition.hpp"
#include "storage/engines/transfer.hpp"
#include "storage/striping.hpp"

namespace weir::bench {

struct CoreSettings {
  std::string directory;  // where the test files go; exists
  // The directories after the first, of workloads that distribute files to several; absolute.
  std::vector<std::string> further_directories;
  std::string output;       // folder for the results; made by the run
  std::string expectation;  // JSON file {slug: expectation}; empty: none was made
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
// Checks what can be checked without touching the directory.
[[nodiscard]] Result<CoreSettings> core_settings_of(const Settings& settings);
// The directory must exist and be writable, and files there must be able to have the layout: one
// line that says what to do otherwise.
[[nodiscard]] Status check_directory(const std::string& directory,
                                     const storage::Striping& striping);

}  // namespace weir::bench
