// What one configuration will move and need: the "plan" of run.json. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "workloads/array/parameters.hpp"

namespace weir::bench::array_io {

[[nodiscard]] nlohmann::ordered_json plan_json(const Geometry& geometry, const Options& options,
                                               const Variant& variant, std::int64_t ranks);

// What a rank needs of memory: its largest part. Rank 0 holds as much as any.
[[nodiscard]] std::int64_t memory_bytes_per_rank(const Geometry& geometry);

}  // namespace weir::bench::array_io
