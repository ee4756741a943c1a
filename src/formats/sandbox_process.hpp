// Reads a file's header by the format's library in a process of its own. Libraries of file formats
// are large and trust their input: a damaged file makes some of them crash, loop or request all
// memory. A child process with limits therefore reads the header, and returns it as bytes.
//
// There are two kinds of child. A program of Weir's own (sandbox_program.hpp) costs the same
// however large the calling process is. A fork needs no program, but afterwards each page of the
// process's memory causes a fault when it is next written, which slows down what is read right
// after opening.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "common/status.hpp"

namespace weir::storage {

inline constexpr std::chrono::milliseconds longest_reading{60000};
inline constexpr std::size_t most_reading_memory = std::size_t{4} << 30;

struct SandboxLimits {
  std::chrono::milliseconds time = longest_reading;
  std::size_t more_memory = most_reading_memory;  // beyond what the child has at its start, bytes
};

// Runs in the child: returns the header as bytes, or the reason why it cannot.
using ReadHeader = std::function<Result<std::string>()>;

// Runs `program`, which calls sandbox_main(), for the file `path` and a `question` about it (empty:
// what is in its header), and returns its answer (code and message of an error). The error is
// `corrupt` if the program crashed or exceeded a limit. Returns nothing if the program cannot run
// here, because it or one of its libraries is missing. The program gets no descriptors or signal
// settings of this process, and only LD_LIBRARY_PATH of its environment.
[[nodiscard]] std::optional<Result<std::string>> read_by_program(const std::string& program,
                                                                 const std::string& path,
                                                                 const SandboxLimits& limits = {},
                                                                 const std::string& question = {});

// Reads a header in a fork of this process. `read` must not wait for other threads of the process,
// because the child does not have them.
[[nodiscard]] Result<std::string> read_by_fork(const ReadHeader& read, const std::string& path,
                                               const SandboxLimits& limits = {});

// Answers a `question` about a file, see read_by_program().
using AnswerAbout =
    std::function<Result<std::string>(const std::string& path, const std::string& question)>;

// Implements main() of such a program: answers about the path that it was called with.
int sandbox_main(int argument_count, char** arguments, const AnswerAbout& answer);

}  // namespace weir::storage
