// Chooses how to store bytes into memory that the cores of a node share: through the caches or
// bypassing them.
//
// If cores share a cache, data that one core stores there can be read by another from the cache,
// which is the fastest way. If they do not (dies, sockets), each line first has to be taken from
// the core that used it last, and a store takes five to ten times as long as one that bypasses the
// caches. No interface reports which case applies, least of all in a virtual machine, whose cores
// migrate. Therefore both ways are tried, repeatedly, and more rarely as long as a try finds what
// the ones before it have found.
//
// To ask for the processor time is a system call, which also makes the copy after it slower: both
// together took 3 us of a copy of 1 MiB in 20 us. So only few copies are timed: tries, and one in
// `between_timings` of the others.
#pragma once

#include <array>
#include <cstdint>

#include "array/copy.hpp"

namespace weir::aggregation {

class StoreChoice {
 public:
  using Target = array::StridedCopy::Target;

  struct Next {
    Target way = Target::cached;
    bool is_timed = false;  // took() wants to know how long the copy takes
  };

  // Returns the way for the next copy, which has `bytes` bytes.
  [[nodiscard]] Next next(std::int64_t bytes);
  // Records how much processor time a copy took that next() has wanted to be timed.
  void took(Target way, std::int64_t bytes, std::int64_t nanoseconds);
  // Calls copy(way) for the next copy, and times it if it is to be.
  template <typename Copy>
  auto run(std::int64_t bytes, const Copy& copy);

 private:
  static constexpr int least_between_tries = 24;
  static constexpr int between_timings = 24;

  [[nodiscard]] Target faster() const;

  std::array<double, 2> cost_ = {};  // by way: approximate seconds per byte; 0 if unknown
  int since_tried_ = 0;              // number of copies by the faster way since the other was tried
  int between_tries_ = least_between_tries;
  int since_timed_ = 0;  // number of copies since one by the faster way was timed
};

// The choices of a rank.
struct StoreChoices {
  StoreChoice gathering;  // copies from its memory into buffers
  StoreChoice filling;    // copies from the file into its buffers
};

// Returns the processor time of this thread in nanoseconds, which excludes waits for a core.
[[nodiscard]] std::int64_t processor_ns();

template <typename Copy>
auto StoreChoice::run(std::int64_t bytes, const Copy& copy) {
  const Next chosen = next(bytes);
  if (!chosen.is_timed) return copy(chosen.way);
  const std::int64_t began = processor_ns();
  auto outcome = copy(chosen.way);
  took(chosen.way, bytes, processor_ns() - began);
  return outcome;
}

}  // namespace weir::aggregation
