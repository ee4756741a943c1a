// Chooses how to store bytes into memory that the cores of a node share: through the caches or
// bypassing them.
//
// If cores share a cache, data that one core stores there can be read by another from the cache,
// which is the fastest way. If they do not (dies, sockets), each line first has to be taken from
// the core that used it last, and a store takes five to ten times as long as one that bypasses the
// caches. No interface reports which case applies, least of all in a virtual machine, whose cores
// migrate. Therefore both ways are tried, repeatedly, and more rarely as long as a try finds what
// the ones before it have found.
#pragma once

#include <array>
#include <cstdint>

#include "array/copy.hpp"

namespace weir::aggregation {

class StoreChoice {
 public:
  using Target = array::StridedCopy::Target;

  // Returns the way for the next copy, which has `bytes` bytes.
  [[nodiscard]] Target next(std::int64_t bytes);
  // Records how much processor time a copy took.
  void took(Target way, std::int64_t bytes, std::int64_t nanoseconds);

 private:
  static constexpr int least_between_tries = 24;

  [[nodiscard]] Target faster() const;

  std::array<double, 2> cost_ = {};  // by way: approximate seconds per byte; 0 if unknown
  int since_tried_ = 0;              // number of copies by the faster way since the other was tried
  int between_tries_ = least_between_tries;
};

// The choices of a rank.
struct StoreChoices {
  StoreChoice gathering;  // copies from its memory into buffers
  StoreChoice filling;    // copies from the file into its buffers
};

// Returns the processor time of this thread in nanoseconds, which excludes waits for a core.
[[nodiscard]] std::int64_t processor_ns();

}  // namespace weir::aggregation
