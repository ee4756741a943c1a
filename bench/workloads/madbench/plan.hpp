// A plan is what a configuration will do, as known before it starts: bytes, operations, memory,
// disk. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/aggregate.hpp"
#include "workloads/madbench/layout.hpp"
#include "workloads/madbench/parameters.hpp"
#include "workloads/madbench/request.hpp"

namespace weir::bench::madbench {

// Returns the functions and directions in which a variant moves bytes: S write, W read, W write, C
// read.
[[nodiscard]] std::vector<PhaseKey> phases_of(const Variant& variant);

// Returns what the matrices take and, where ranks exchange messages, the buffers of these.
[[nodiscard]] std::int64_t memory_bytes_per_rank(const Layout& layout, Calculation calculation);

// Returns the "plan" of run.json (docs/schema/run.schema.json). `alpha` is 0 if it is not given.
//
// Without busy work, the computation that can hide a transfer is estimated as busy work of the same
// duration: 40 operations per element for the ten multipoles of S, an eighth of an operation per
// multiply-add of W's product, and one per element and gang for C's traces.
//
// How long messages take is unknown, so with them no computation is planned.
//
// `directories` are those among which the files are divided, or none.
[[nodiscard]] Result<nlohmann::ordered_json> plan_json(
    const Size& size, const Variant& variant, double alpha,
    Calculation calculation = Calculation::busy_work,
    const std::vector<std::string>& directories = {});

}  // namespace weir::bench::madbench
