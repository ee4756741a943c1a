// The "plan" of run.json: what one configuration will move and need. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "workloads/array/parameters.hpp"

namespace weir::bench::array_io {

[[nodiscard]] nlohmann::ordered_json plan_json(const Geometry& geometry, const Options& options,
                                               const Variant& variant, std::int64_t ranks);

// Returns the memory that a rank needs, for its largest part. Rank 0 holds at least as much as any
// rank.
[[nodiscard]] std::int64_t memory_bytes_per_rank(const Geometry& geometry);

}  // namespace weir::bench::array_io
