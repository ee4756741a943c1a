// What the workload flagfile does: its settings, and the configurations that they make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"

namespace weir::bench::flagfile {

// One configuration: so many ranks poll the flag.
struct Variant {
  std::int64_t pollers = 0;
  std::string label;  // "4 pollers by stat"
  std::string slug;   // no two configurations of a job share one
};

// What all configurations of a job share.
struct Options {
  std::int64_t others = 1;      // ranks that look at files of their own, the first of the job
  std::int64_t files = 100;     // of each of them
  bool by_reading = false;      // a poll opens, reads and closes the flag; otherwise a stat
  double interval_seconds = 0;  // between two polls of a rank
  double seconds = 1;           // until the flag is set
};

// The workload's own settings and the core's.
[[nodiscard]] std::vector<Setting> declarations();

[[nodiscard]] Result<Options> options_of(const Settings& settings, std::int64_t ranks);
// The variants of the settings; without any: 0, 1, 2, 4 and so on to all ranks besides the others.
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings,
                                                       const Options& options, std::int64_t ranks);
[[nodiscard]] Status check_core(const CoreSettings& core, const Options& options);

}  // namespace weir::bench::flagfile
