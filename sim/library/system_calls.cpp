// Calls of the system that the library makes and that would mean something else in a simulation.
// The linker directs them here (--wrap in sim/CMakeLists.txt), where SimGrid's own are not.
#include <sched.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "library/simulated_rank.hpp"

namespace {

using weir::sim::SimulatedSystem;
using weir::sim::this_rank;

// The library takes a time of 0 for none.
constexpr double clock_begins_at_seconds = 1;

// Memory that belongs to no file is found by this number in place of a device, and by the number of
// its bytes in place of an inode.
constexpr std::uint64_t no_device = 0;

}  // namespace

extern "C" {

int __real_clock_gettime(clockid_t clock, timespec* now);
int __wrap_clock_gettime(clockid_t clock, timespec* now) {
  if (clock != CLOCK_MONOTONIC) return __real_clock_gettime(clock, now);
  const double seconds = clock_begins_at_seconds + simgrid_get_clock();
  now->tv_sec = static_cast<time_t>(seconds);
  now->tv_nsec = static_cast<long>((seconds - static_cast<double>(now->tv_sec)) * 1e9);
  return 0;
}

// All ranks of a node find the words on which they sleep at the same address. Memory of no file is
// for payload, and all ranks have the same if nobody reads it.
void* __real_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset);
void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  struct stat facts {};
  const bool of_a_file = file >= 0 && (flags & MAP_SHARED) != 0 && ::fstat(file, &facts) == 0;
  SimulatedSystem& system = *this_rank().system;
  if (!of_a_file && (file >= 0 || !system.payload_is_unread)) {
    return __real_mmap(at, bytes, protection, flags, file, offset);
  }
  SimulatedSystem::Mapping& mapping = of_a_file ? system.mappings[{facts.st_dev, facts.st_ino}]
                                                : system.mappings[{no_device, bytes}];
  if (mapping.users == 0) {
    mapping.memory = __real_mmap(at, bytes, protection, flags, file, offset);
    if (mapping.memory == MAP_FAILED) return MAP_FAILED;
  }
  ++mapping.users;
  return mapping.memory;
}

int __real_munmap(void* memory, std::size_t bytes);
int __wrap_munmap(void* memory, std::size_t bytes) {
  auto& mappings = this_rank().system->mappings;
  const auto shared =
      std::ranges::find_if(mappings, [&](const auto& one) { return one.second.memory == memory; });
  if (shared == mappings.end()) return __real_munmap(memory, bytes);
  if (--shared->second.users > 0) return 0;
  mappings.erase(shared);
  return __real_munmap(memory, bytes);
}

// Buffers take memory as far as bytes come into them.
int __wrap_fallocate(int /*file*/, int /*mode*/, off_t /*offset*/, off_t /*bytes*/) { return 0; }

// Leaders watch each other by connections and threads (src/ranks/neighbour_links.hpp). Simulated
// ones are never lost.
int __wrap_listen(int /*socket*/, int /*backlog*/) {
  errno = EOPNOTSUPP;
  return -1;
}

// Ranks of a node, and no others, have the name of its host in common.
int __wrap_gethostname(char* name, std::size_t bytes) {
  std::strncpy(name, sg_host_self_get_name(), bytes);
  return 0;
}

int __wrap_sched_getaffinity(pid_t /*process*/, std::size_t bytes, cpu_set_t* set) {
  std::memset(set, 0, bytes);
  const auto most = static_cast<std::int64_t>(bytes) * 8;
  for (std::int64_t number = 0; number < std::min(this_rank().processors, most); ++number) {
    CPU_SET_S(static_cast<std::size_t>(number), bytes, set);
  }
  return 0;
}

}  // extern "C"
