// How bytes are stored into memory that the cores of a node share: through the caches or past them.
//
// Where cores share a cache, what one stores there another one takes from it: the fastest way.
// Where they do not (dies, sockets), each line is first taken away from the core that used it last,
// and a store then takes five to ten times as long as past the caches. Which of the two it is
// nobody tells, least of all in a virtual machine, whose cores move; so both ways are tried, and
// tried again.
#pragma once

#include <array>
#include <cstdint>

#include "array/copy.hpp"

namespace weir::aggregation {

class StoreChoice {
 public:
  using Target = array::StridedCopy::Target;

  // The way for a copy of so many bytes.
  [[nodiscard]] Target next(std::int64_t bytes);
  // Notes how much processor time a copy took.
  void took(Target way, std::int64_t bytes, std::int64_t nanoseconds);

 private:
  [[nodiscard]] Target faster() const;

  std::array<double, 2> cost_ = {};  // by way: seconds a byte, about; 0 when not known
  int since_tried_ = 0;              // copies by the faster way
};

// A rank's choices.
struct StoreChoices {
  StoreChoice gathering;  // its memory into buffers
  StoreChoice filling;    // the file into its buffers
};

// Processor time of this thread in nanoseconds: it does not count waits for a core.
[[nodiscard]] std::int64_t processor_ns();

}  // namespace weir::aggregation
