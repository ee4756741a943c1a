// In place of bench/measurement/processor_ticks.cpp: a simulated node has no processes. To look at
// those of this machine for each simulated node took a tenth of the simulator's time.
#include "measurement/processor_ticks.hpp"

namespace weir::bench {

std::optional<ProcessorTicks> processor_ticks_now() { return std::nullopt; }

std::int64_t kernel_thread_ticks_now() { return 0; }

}  // namespace weir::bench
