// Does a library survive reading this file? Libraries of file formats are large and trust what they
// read: a damaged file makes some crash, loop or ask for all memory. So a child process reads it
// first, with limits, and only what it lived through is read in the process that asked.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "common/status.hpp"

namespace weir::storage {

struct TrialLimits {
  std::chrono::milliseconds time{60000};
  std::size_t more_memory = std::size_t{4} << 30;  // than the process has now, bytes
};

// Calls `read` in a child process and returns what it returned (of an error, code and message);
// corrupt when it crashed or met a limit. `read` may not wait for other threads of the process: in
// the child there are none.
Status survive_trial(const std::function<Status()>& read, const std::string& path,
                     const TrialLimits& limits = {});

}  // namespace weir::storage
