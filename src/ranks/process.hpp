// The state that the system reports for a process of this machine (/proc).
#pragma once

#include <cstdint>
#include <string>

namespace weir::ranks {

enum class ProcessState : std::uint8_t {
  unknown,  // this process has no permission to look
  ended,
  stopped,  // by a signal or a debugger
  asleep,   // waits for an event; a signal would interrupt it
  busy,     // computes, or waits uninterruptibly, as for a device
};

struct Process {
  ProcessState state = ProcessState::unknown;
  std::uint64_t started = 0;          // start time, which tells processes with the same pid apart
  std::uint64_t processor_ticks = 0;  // clock ticks that all its threads have used so far
};

[[nodiscard]] Process look_at_process(std::int32_t pid);
// Returns a number of this process's pid namespace; 0 if unknown. Processes of one namespace refer
// to each other by the same pids.
[[nodiscard]] std::uint64_t own_pid_namespace();
// Returns a text that is equal for all processes on one running system with one network namespace;
// empty if unknown.
[[nodiscard]] std::string own_system();

}  // namespace weir::ranks
