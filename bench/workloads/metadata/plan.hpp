// A plan is what a configuration will do, as far as it is known before the run: for --plan and
// run.json's plan.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "workloads/metadata/parameters.hpp"

namespace weir::bench::metadata {

// Returns the operations of all ranks in one phase, given the state before it.
[[nodiscard]] std::int64_t operations_of(Action action, const TreeShape& shape,
                                         const TreeState& before);
// Returns the operations of all ranks in a mix, or those of one of its operations by weight. It
// assumes that no operation runs out of items or places.
[[nodiscard]] std::int64_t operations_of(const Measured& measured, const Options& options,
                                         const TreeShape& shape);
[[nodiscard]] std::int64_t memory_bytes_per_rank(const Variant& variant, const Options& options);
// Returns the maximum number of bytes that the files hold.
[[nodiscard]] std::int64_t disk_bytes(const Variant& variant, const Options& options);
[[nodiscard]] nlohmann::ordered_json plan_json(const Variant& variant, const Options& options);

}  // namespace weir::bench::metadata
