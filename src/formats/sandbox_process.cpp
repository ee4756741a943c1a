#include "formats/sandbox_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <utility>
#include <vector>

#include "formats/sandbox_answer.hpp"
#include "system/child_process.hpp"

namespace weir::storage {
namespace {

bool is_interruption(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

HeardAnswer hear_and_end(pid_t child, Pipe& answers, const SandboxLimits& limits) {
  constexpr auto to_end_by_itself = std::chrono::milliseconds(200);
  answers.close_in();
  HeardAnswer answer = hear_answer(answers.out(), limits);
  const bool is_late = answer.heard == Heard::too_little;
  const ChildEnd end = end_child(child, is_late ? std::chrono::milliseconds(0) : to_end_by_itself);
  if (answer.heard == Heard::a_break && is_interruption(end.signal)) {
    answer.heard = Heard::interrupted;
  }
  return answer;
}

Error broken(const std::string& path, std::string what, ErrorCode code = ErrorCode::corrupt) {
  Error error = invalid_argument(std::move(what));
  error.code = code;
  error.operation = "open";
  error.file = path;
  return error;
}

Result<std::string> outcome(HeardAnswer answer, const std::string& path,
                            const SandboxLimits& limits) {
  if (answer.heard == Heard::an_answer) {
    if (answer.ok) return std::move(answer.bytes);
    return broken(path, std::move(answer.bytes), answer.code);
  }
  if (answer.heard == Heard::too_little) {
    return broken(path,
                  fmt::format("reading the file's header took more than {} ms: the file is "
                              "damaged, or its storage is slow (WEIR_READ_SECONDS allows more "
                              "time)",
                              limits.time.count()));
  }
  if (answer.heard == Heard::interrupted) {
    return broken(path, "a signal interrupted the reading of the file's header: open it again",
                  ErrorCode::interrupted);
  }
  return broken(path, fmt::format("the file is damaged: the library of its format crashes when it "
                                  "reads the header, or needs more than {} bytes of memory "
                                  "(WEIR_READ_BYTES allows more)",
                                  limits.more_memory));
}

// ---- A program --------------------------------------------------------------------------------

constexpr int answers_in_program = 3;

// ---- A fork -----------------------------------------------------------------------------------

// Resets signal handlers. Handlers that a launcher installed for crashes would print, or wait for
// the job.
[[noreturn]] void be_the_child(const ReadHeader& read, const SandboxLimits& limits, int answers) {
  for (const int signal :
       {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGTERM, SIGALRM, SIGPIPE}) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const int nowhere = ::open("/dev/null", O_RDWR);
  if (nowhere >= 0) {
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
  }
  read_and_answer(read, limits, answers);
}

}  // namespace

std::optional<Result<std::string>> read_by_program(const std::string& program,
                                                   const std::string& path,
                                                   const SandboxLimits& limits,
                                                   const std::string& question) {
  // If descriptors cannot be kept from a program, a fork is used.
  if (!can_keep_descriptors_back()) return std::nullopt;
  Pipe answers(path);
  if (!answers.status().ok()) return answers.status().error();
  // The program must not get libraries that are preloaded into this process, nor variables about
  // its job.
  std::vector<std::string> variables;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): reading it is as safe as the program makes it
  if (const char* const libraries = ::secure_getenv("LD_LIBRARY_PATH"); libraries != nullptr) {
    variables.push_back(fmt::format("LD_LIBRARY_PATH={}", libraries));
  }
  Program reader{.words = {program, fmt::format("{}", limits.time.count()),
                           fmt::format("{}", limits.more_memory), path},
                 .outputs = {answers_in_program},
                 .environment = std::move(variables)};
  if (!question.empty()) reader.words.push_back(question);
  const pid_t child = start_program(reader, answers).pid;
  if (child < 0) return std::nullopt;
  HeardAnswer answer = hear_and_end(child, answers, limits);
  if (answer.heard == Heard::no_greeting) return std::nullopt;
  return outcome(std::move(answer), path, limits);
}

Result<std::string> read_by_fork(const ReadHeader& read, const std::string& path,
                                 const SandboxLimits& limits) {
  Pipe answers(path);
  if (!answers.status().ok()) return answers.status().error();
  const pid_t child = ::fork();
  if (child < 0) return system_failure("fork", path, -1, errno);
  if (child == 0) be_the_child(read, limits, answers.in());
  return outcome(hear_and_end(child, answers, limits), path, limits);
}

int sandbox_main(int argument_count, char** arguments, const AnswerAbout& answer) {
  const std::vector<std::string> words(arguments, arguments + argument_count);
  const auto number = [&](std::size_t at) {
    std::int64_t value = 0;
    const std::string& word = words[at];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() && value > 0 ? value : 0;
  };
  if (words.size() < 4 || words.size() > 5 || number(1) == 0 || number(2) == 0 ||
      ::fcntl(answers_in_program, F_GETFD) < 0) {
    constexpr std::string_view what =
        "this program is a part of Weir, which starts it to read a file's header\n";
    return ::write(2, what.data(), what.size()) < 0 ? 2 : 1;
  }
  const SandboxLimits limits{.time = std::chrono::milliseconds(number(1)),
                             .more_memory = static_cast<std::size_t>(number(2))};
  const std::string question = words.size() == 5 ? words[4] : "";
  read_and_answer([&] { return answer(words[3], question); }, limits, answers_in_program);
}

}  // namespace weir::storage
