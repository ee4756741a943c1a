// A file's header is read by a library in a process of its own. Libraries of file formats are large
// and trust what they read: a damaged file makes some crash, loop or ask for all memory. So a child
// process reads it, with limits, and what comes back is the header as bytes.
//
// There are two kinds of child. A program of Weir's own (sandbox_program.hpp) costs the same
// however large the process is that asks. A fork needs no program; but each page of memory that the
// process has takes a fault when it is next written, which slows down what is read right after
// opening.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "common/status.hpp"

namespace weir::storage {

struct SandboxLimits {
  std::chrono::milliseconds time{60000};
  std::size_t more_memory = std::size_t{4} << 30;  // than the child has at its start, bytes
};

// What is read in the child: the header as bytes, or why it cannot be had.
using ReadHeader = std::function<Result<std::string>()>;

// Runs `program`, which calls sandbox_main(), for the file `path` and a `question` about it (none:
// what is in its header), and returns what it answered (of
// an error, code and message); corrupt when it crashed or met a limit. Nothing when it cannot run
// here: it is not there, or its libraries are not. It gets no descriptors, signal settings or
// environment of this process; of its variables only LD_LIBRARY_PATH.
[[nodiscard]] std::optional<Result<std::string>> read_by_program(const std::string& program,
                                                                 const std::string& path,
                                                                 const SandboxLimits& limits = {},
                                                                 const std::string& question = {});

// Reads a header in a fork of this process. `read` may not wait for other threads of the process:
// in the child there are none.
[[nodiscard]] Result<std::string> read_by_fork(const ReadHeader& read, const std::string& path,
                                               const SandboxLimits& limits = {});

// What a program for read_by_program() answers about a file; `question` as there.
using AnswerAbout =
    std::function<Result<std::string>(const std::string& path, const std::string& question)>;

// The whole main() of such a program: answers about the path that it was called with.
int sandbox_main(int argument_count, char** arguments, const AnswerAbout& answer);

}  // namespace weir::storage
