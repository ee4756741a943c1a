// What the system tells of a process of this machine (/proc).
#pragma once

#include <cstdint>
#include <string>

namespace weir::ranks {

enum class ProcessState : std::uint8_t {
  unknown,  // this process may not look
  ended,
  stopped,  // by a signal or a debugger
  asleep,   // waits for something that a signal would interrupt
  busy,     // computes, or waits inside the system for a device
};

struct Process {
  ProcessState state = ProcessState::unknown;
  std::uint64_t started = 0;          // a number that no other process with its pid has
  std::uint64_t processor_ticks = 0;  // used so far by all its threads
};

[[nodiscard]] Process look_at_process(std::int32_t pid);
// Processes of one namespace call each other by the same pids; 0: not known.
[[nodiscard]] std::uint64_t own_pid_namespace();
// A text that is the same for all processes that share a running system and its network; empty: not
// known.
[[nodiscard]] std::string own_system();

}  // namespace weir::ranks
