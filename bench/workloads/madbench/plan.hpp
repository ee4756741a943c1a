// What a configuration will do, known before it starts: bytes, operations, memory, disk. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "common/status.hpp"
#include "measurement/aggregate.hpp"
#include "workloads/madbench/layout.hpp"
#include "workloads/madbench/parameters.hpp"
#include "workloads/madbench/request.hpp"

namespace weir::bench::madbench {

// The functions and directions in which a variant moves bytes: S write, W read, W write, C read.
[[nodiscard]] std::vector<PhaseKey> phases_of(const Variant& variant);

// run.json's "plan" (docs/schema/run.schema.json). `alpha` is 0 when not given.
//
// Without busy work, what a transfer can run behind is estimated as busy work of the same duration:
// 40 operations per element for the ten multipoles of S, an eighth of an operation per multiply-add
// of W's product, one per element and gang for C's traces.
[[nodiscard]] Result<nlohmann::ordered_json> plan_json(
    const Size& size, const Variant& variant, double alpha,
    Calculation calculation = Calculation::busy_work);

}  // namespace weir::bench::madbench
