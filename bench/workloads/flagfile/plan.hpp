// What a configuration will do, as far as it is known before the run: for --plan and run.json's
// plan.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "workloads/flagfile/parameters.hpp"

namespace weir::bench::flagfile {

[[nodiscard]] nlohmann::ordered_json plan_json(const Options& options, std::int64_t ranks);

}  // namespace weir::bench::flagfile
