// The amount of memory that a process can still allocate without swapping or being killed.
#pragma once

#include <cstdint>

namespace weir::storage {

// Returns the lesser of MemAvailable in /proc/meminfo and the bytes that the memory cgroup of this
// process (version 1 or 2) still allows. Cached pages of files count as free, because the system
// reclaims them when a program allocates memory.
[[nodiscard]] std::int64_t available_memory_bytes();

}  // namespace weir::storage
