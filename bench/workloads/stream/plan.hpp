// The "plan" of run.json: what one configuration will move and need. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "workloads/stream/files.hpp"
#include "workloads/stream/parameters.hpp"

namespace weir::bench::stream {

[[nodiscard]] nlohmann::ordered_json plan_json(const Variant& variant, const Options& options,
                                               const std::vector<Target>& targets,
                                               std::int64_t ranks);

// Returns the memory that a rank needs for buffers, payload, order and trace.
[[nodiscard]] std::int64_t memory_bytes_per_rank(const Variant& variant, const Options& options,
                                                 std::int64_t ranks);

}  // namespace weir::bench::stream
