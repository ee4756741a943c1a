// What a configuration will do, known before the run: --plan, and run.json's plan.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "workloads/metadata/parameters.hpp"

namespace weir::bench::metadata {

// What all ranks do in one phase, given what is there before it.
[[nodiscard]] std::int64_t operations_of(Action action, const TreeShape& shape,
                                         const TreeState& before);
// What all ranks do in a mix, or of one of its operations by its weight: where nothing it needs
// runs out.
[[nodiscard]] std::int64_t operations_of(const Measured& measured, const Options& options,
                                         const TreeShape& shape);
[[nodiscard]] std::int64_t memory_bytes_per_rank(const Variant& variant, const Options& options);
// Bytes that the files hold at most.
[[nodiscard]] std::int64_t disk_bytes(const Variant& variant, const Options& options);
[[nodiscard]] nlohmann::ordered_json plan_json(const Variant& variant, const Options& options);

}  // namespace weir::bench::metadata
