// What processes have used of this node's processors since boot.
#pragma once

#include <cstdint>
#include <optional>

#include "measurement/quiet.hpp"

namespace weir::bench {

[[nodiscard]] std::optional<ProcessorTicks> processor_ticks_now();
// Returns the ticks of all kernel threads. Each process of the node is looked at.
[[nodiscard]] std::int64_t kernel_thread_ticks_now();

}  // namespace weir::bench
