// Messages from a child process that reads a header to its parent, through a pipe:
//
// clang-format off
//     a greeting         the child runs: from here on, failures are caused by the file
//     an answer's head   whether it read the header, the code of an error, and the number of bytes
//     bytes              the header, or the error's message
// clang-format on
#pragma once

#include <string>
#include <string_view>

#include "common/status.hpp"
#include "formats/sandbox_process.hpp"

namespace weir::storage {

// Returns the greeting of this version of Weir. It includes a newline at its end.
[[nodiscard]] std::string_view sandbox_greeting();
// Runs in the child: sets limits, reads the header, answers and ends.
[[noreturn]] void read_and_answer(const ReadHeader& read, const SandboxLimits& limits, int answers);

enum class Heard {
  an_answer,
  no_greeting,  // the child ended without a greeting
  a_break,      // the child ended between greeting and answer
  too_little,   // the answer did not arrive within the time limit
  interrupted,  // a break caused by a signal such as SIGTERM
};

struct HeardAnswer {
  Heard heard = Heard::no_greeting;
  bool ok = false;
  ErrorCode code = ErrorCode::corrupt;
  std::string bytes;
};

// Runs in the parent: waits until the child has answered or ended, or the time is over.
[[nodiscard]] HeardAnswer hear_answer(int answers, const SandboxLimits& limits);

}  // namespace weir::storage
