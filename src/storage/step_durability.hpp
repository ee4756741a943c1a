// When what was written outlives a crash of the system. A crash of the program alone loses nothing
// that was written: the pages are the kernel's.
#pragma once

#include <cstdint>

namespace weir::storage {

enum class StepDurability : std::uint8_t {
  none,       // when the system gets to it
  step,       // when a step has ended: its bytes first, then what makes readers see it
  operation,  // when each write has returned
};

}  // namespace weir::storage
