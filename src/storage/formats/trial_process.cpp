#include "storage/formats/trial_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "storage/formats/trial_answer.hpp"

namespace weir::storage {
namespace {

// ---- The pipe, and the end of a child ---------------------------------------------------------

// Both ends are closed in programs that this process starts.
class Pipe {
 public:
  explicit Pipe(const std::string& path) {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) status_ = system_failure("pipe", path, -1, errno);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (int& end : ends_) close(end);
  }

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] int out() const { return ends_[0]; }
  [[nodiscard]] int in() const { return ends_[1]; }
  void close_in() { close(ends_[1]); }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }

  std::array<int, 2> ends_{-1, -1};
  Status status_;
};

struct End {
  bool ended = false;
  int signal = 0;  // that ended it; 0: none, or where somebody else fetched that
};

// Waits for the end of a child so long at most.
End fetch(pid_t child, std::chrono::milliseconds patience) {
  auto nap = std::chrono::microseconds(50);
  const auto late = std::chrono::steady_clock::now() + patience;
  for (;;) {
    int how = 0;
    const pid_t fetched = ::waitpid(child, &how, WNOHANG);
    // Where the program ignores SIGCHLD there is nothing to fetch.
    if (fetched < 0 && errno != EINTR) return {.ended = true};
    if (fetched == child) return {.ended = true, .signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0};
    if (std::chrono::steady_clock::now() > late) return {};
    std::this_thread::sleep_for(nap);
    nap = std::min(2 * nap, std::chrono::microseconds(2000));
  }
}

bool is_interruption(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

HeardAnswer hear_and_end(pid_t child, Pipe& answers, const TrialLimits& limits) {
  constexpr auto to_end_by_itself = std::chrono::milliseconds(200);
  constexpr auto to_be_killed = std::chrono::milliseconds(2000);
  answers.close_in();
  HeardAnswer answer = hear_answer(answers.out(), limits);
  End end;
  if (answer.heard != Heard::too_little) end = fetch(child, to_end_by_itself);
  if (!end.ended) {
    ::kill(child, SIGKILL);
    // One that waits for its storage may outlive its killing: it is left.
    end = fetch(child, to_be_killed);
  }
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
                            const TrialLimits& limits) {
  if (answer.heard == Heard::an_answer) {
    if (answer.ok) return std::move(answer.bytes);
    return broken(path, std::move(answer.bytes), answer.code);
  }
  if (answer.heard == Heard::too_little) {
    return broken(path,
                  fmt::format("reading the file's header took over {} ms: it is damaged, or its "
                              "storage does not answer",
                              limits.time.count()));
  }
  if (answer.heard == Heard::interrupted) {
    return broken(path, "a signal ended the reading of the file's header: open it again",
                  ErrorCode::interrupted);
  }
  return broken(path,
                "the file is damaged: the library of its format crashes when it reads the header");
}

// ---- A program --------------------------------------------------------------------------------

constexpr int answers_in_program = 3;

#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 34)

class Start {
 public:
  explicit Start(int answers) {
    posix_spawn_file_actions_init(&files_);
    // First, as 0 to 2 may be free in this process, and the pipe be one of them.
    posix_spawn_file_actions_adddup2(&files_, answers, answers_in_program);
    for (const int standard : {0, 1, 2}) {
      posix_spawn_file_actions_addopen(&files_, standard, "/dev/null", O_RDWR, 0);
    }
    posix_spawn_file_actions_addclosefrom_np(&files_, answers_in_program + 1);
    posix_spawnattr_init(&settings_);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&settings_, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&settings_, &signals);
    posix_spawnattr_setflags(&settings_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;
  ~Start() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&settings_);
  }

  // Negative when it cannot be started.
  [[nodiscard]] pid_t run(std::vector<std::string> words) const {
    // What is preloaded into this process or tells it of its job is not for the program.
    std::vector<std::string> variables;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): reading it is as safe as the program makes it
    if (const char* const libraries = ::secure_getenv("LD_LIBRARY_PATH"); libraries != nullptr) {
      variables.push_back(fmt::format("LD_LIBRARY_PATH={}", libraries));
    }
    std::vector<char*> arguments = ended_by_null(words);
    std::vector<char*> environment = ended_by_null(variables);
    pid_t child = -1;
    const int failed = ::posix_spawn(&child, words[0].c_str(), &files_, &settings_,
                                     arguments.data(), environment.data());
    return failed == 0 ? child : -1;
  }

 private:
  static std::vector<char*> ended_by_null(std::vector<std::string>& words) {
    std::vector<char*> list;
    list.reserve(words.size() + 1);
    for (std::string& word : words) list.push_back(word.data());
    list.push_back(nullptr);
    return list;
  }

  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t settings_{};
};

#else

// No way to keep descriptors back from a program: a fork is used.
class Start {
 public:
  explicit Start(int /*answers*/) {}
  [[nodiscard]] pid_t run(const std::vector<std::string>& /*words*/) const { return -1; }
};

#endif

// ---- A fork -----------------------------------------------------------------------------------

// A launcher's handlers for crashes would print, or wait for the job.
[[noreturn]] void be_the_child(const ReadHeader& read, const TrialLimits& limits, int answers) {
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
                                                   const TrialLimits& limits) {
  Pipe answers(path);
  if (!answers.status().ok()) return answers.status().error();
  const pid_t child = Start(answers.in())
                          .run({program, fmt::format("{}", limits.time.count()),
                                fmt::format("{}", limits.more_memory), path});
  if (child < 0) return std::nullopt;
  HeardAnswer answer = hear_and_end(child, answers, limits);
  if (answer.heard == Heard::no_greeting) return std::nullopt;
  return outcome(std::move(answer), path, limits);
}

Result<std::string> read_by_fork(const ReadHeader& read, const std::string& path,
                                 const TrialLimits& limits) {
  Pipe answers(path);
  if (!answers.status().ok()) return answers.status().error();
  const pid_t child = ::fork();
  if (child < 0) return system_failure("fork", path, -1, errno);
  if (child == 0) be_the_child(read, limits, answers.in());
  return outcome(hear_and_end(child, answers, limits), path, limits);
}

int trial_main(int argument_count, char** arguments,
               const std::function<Result<std::string>(const std::string& path)>& read) {
  const std::vector<std::string> words(arguments, arguments + argument_count);
  const auto number = [&](std::size_t at) {
    std::int64_t value = 0;
    const std::string& word = words[at];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() && value > 0 ? value : 0;
  };
  if (words.size() != 4 || number(1) == 0 || number(2) == 0 ||
      ::fcntl(answers_in_program, F_GETFD) < 0) {
    constexpr std::string_view what = "part of Weir, which starts it to read a file's header\n";
    return ::write(2, what.data(), what.size()) < 0 ? 2 : 1;
  }
  const TrialLimits limits{.time = std::chrono::milliseconds(number(1)),
                           .more_memory = static_cast<std::size_t>(number(2))};
  read_and_answer([&] { return read(words[3]); }, limits, answers_in_program);
}

}  // namespace weir::storage
