// The time at which written data survives a crash of the system. A crash of only the program loses
// no written data, because the pages belong to the kernel.
#pragma once

#include <cstdint>

namespace weir::storage {

enum class StepDurability : std::uint8_t {
  none,       // at a time that the system chooses
  step,       // at the end of a step: first its data, then the metadata that publishes it
  operation,  // when each write returns
};

}  // namespace weir::storage
