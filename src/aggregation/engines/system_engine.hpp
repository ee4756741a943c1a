// The engines by which a Collective moves bytes, by their names in plans.
#pragma once

#include <memory>

#include "common/status.hpp"
#include "engines/engine.hpp"
#include "plan/engine.hpp"

namespace weir::aggregation {

// Fails with the reason if the system lacks what the engine needs.
[[nodiscard]] Result<std::unique_ptr<storage::Engine>> make_system_engine(plan::Engine engine);

}  // namespace weir::aggregation
