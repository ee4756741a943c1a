// How much memory a process can still take without swapping or being killed.
#pragma once

#include <cstdint>

namespace weir::storage {

// Bytes: MemAvailable of /proc/meminfo, or what the memory cgroup of this process (version 1 or 2)
// still allows where that is less. Pages of files, which the system gives back when memory is asked
// for, count as free.
[[nodiscard]] std::int64_t available_memory_bytes();

}  // namespace weir::storage
