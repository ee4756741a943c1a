// What a child process that reads a header says to the process that asked, through a pipe:
//
//     a greeting         it runs: what happens from here on is the file's doing
//     an answer's head   whether it read the header, of an error its code, and how many bytes
//     follow bytes              the header, or the error's message
#pragma once

#include <string>
#include <string_view>

#include "common/status.hpp"
#include "storage/formats/sandbox_process.hpp"

namespace weir::storage {

// The greeting of this version of Weir; it ends its line.
[[nodiscard]] std::string_view sandbox_greeting();
// In the child: limits itself, reads, answers and ends.
[[noreturn]] void read_and_answer(const ReadHeader& read, const SandboxLimits& limits, int answers);

enum class Heard {
  an_answer,
  no_greeting,  // it ended without one
  a_break,      // it ended between greeting and answer
  too_little,   // in the time that there is
  interrupted,  // a break, by a signal to end
};

struct HeardAnswer {
  Heard heard = Heard::no_greeting;
  bool ok = false;
  ErrorCode code = ErrorCode::corrupt;
  std::string bytes;
};

// In the process that asked: waits until the child has answered or ended, or the time is over.
[[nodiscard]] HeardAnswer hear_answer(int answers, const SandboxLimits& limits);

}  // namespace weir::storage
