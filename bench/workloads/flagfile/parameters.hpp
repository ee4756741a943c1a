// The settings of the workload flagfile, and the configurations that follow from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"

namespace weir::bench::flagfile {

// One configuration, with its number of ranks that poll the flag.
struct Variant {
  std::int64_t pollers = 0;
  std::string label;  // "4 pollers by stat"
  std::string slug;   // unique among the configurations of a job
};

// The options that all configurations of a job share.
struct Options {
  std::int64_t others = 1;      // the first ranks of the job, which call stat on their own files
  std::int64_t files = 100;     // for each of these ranks
  bool by_reading = false;      // a poll opens, reads and closes the flag; otherwise it is a stat
  double interval_seconds = 0;  // between two polls of a rank
  double seconds = 1;           // until the flag is set
};

// Returns the declarations of the workload's own settings and of the core settings.
[[nodiscard]] std::vector<Setting> declarations();

[[nodiscard]] Result<Options> options_of(const Settings& settings, std::int64_t ranks);
// Returns the variants in the settings. Without any: 0, 1, 2, 4 and so on, up to all ranks besides
// the others.
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings,
                                                       const Options& options, std::int64_t ranks);
[[nodiscard]] Status check_core(const CoreSettings& core, const Options& options);

}  // namespace weir::bench::flagfile
