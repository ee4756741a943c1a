// Pauses a test of src/ranks while other processes go on.
#pragma once

#include <ctime>

namespace weir::ranks {

inline void pause_for_milliseconds(long count) {
  const timespec moment{count / 1000, count % 1000 * 1'000'000};
  ::nanosleep(&moment, nullptr);
}

}  // namespace weir::ranks
