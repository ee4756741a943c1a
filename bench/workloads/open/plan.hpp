// A plan is what a configuration will do, as far as it is known before the run: for --plan and
// run.json's plan.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "workloads/open/parameters.hpp"

namespace weir::bench::opening {

[[nodiscard]] std::int64_t files_of(const Variant& variant, const Options& options,
                                    std::int64_t ranks);
[[nodiscard]] nlohmann::ordered_json plan_json(const Variant& variant, const Options& options,
                                               std::int64_t ranks);

}  // namespace weir::bench::opening
