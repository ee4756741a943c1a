// The table that weir-bench prints of a configuration at the end of a run. On rank 0.
#pragma once

#include <string>

#include "workloads/open/results.hpp"

namespace weir::bench::opening {

[[nodiscard]] std::string table(const OpenRun& run);

// Returns a text such as "12.3 ms".
[[nodiscard]] std::string time_text(double seconds);

}  // namespace weir::bench::opening
