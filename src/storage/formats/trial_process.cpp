#include "storage/formats/trial_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace weir::storage {
namespace {

// What the child answers before it ends: a whole number of bytes that a pipe takes at once.
struct Answer {
  bool ok = false;
  ErrorCode code = ErrorCode::corrupt;
  std::array<char, 512> message{};  // ended by 0
};

std::size_t address_space() {
  std::size_t pages = 0;
  std::array<char, 64> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t bytes = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  for (ssize_t i = 0; i < bytes && text[static_cast<std::size_t>(i)] >= '0'; ++i) {
    pages = pages * 10 + static_cast<std::size_t>(text[static_cast<std::size_t>(i)] - '0');
  }
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void limit(int resource, std::size_t most) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
  if (now.rlim_cur != RLIM_INFINITY && now.rlim_cur < most) return;
  now.rlim_cur = most;
  ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

// In the child. A launcher's handlers for crashes would print, or wait for the job.
[[noreturn]] void read_and_leave(const std::function<Status()>& read, const TrialLimits& limits,
                                 int answer) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGTERM}) {
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
  ::prctl(PR_SET_DUMPABLE, 0);  // no core file
  limit(RLIMIT_CPU, static_cast<std::size_t>(limits.time.count() / 1000) + 1);
  if (const std::size_t now = address_space(); now > 0) limit(RLIMIT_AS, now + limits.more_memory);
  try {
    const Status status = read();
    Answer said;
    said.ok = status.ok();
    if (!status.ok()) {
      said.code = status.error().code;
      status.error().message.copy(said.message.data(), said.message.size() - 1);
    }
    ::_exit(::write(answer, &said, sizeof(said)) == sizeof(said) ? 0 : 1);
  } catch (...) {
    ::_exit(1);  // out of memory
  }
}

Error broken(const std::string& path, std::string what, ErrorCode code = ErrorCode::corrupt) {
  Error error = invalid_argument(std::move(what));
  error.code = code;
  error.operation = "open";
  error.file = path;
  return error;
}

}  // namespace

Status survive_trial(const std::function<Status()>& read, const std::string& path,
                     const TrialLimits& limits) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure("pipe", path, -1, errno);
  const pid_t child = ::fork();
  if (child < 0) {
    const int cause = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return system_failure("fork", path, -1, cause);
  }
  if (child == 0) read_and_leave(read, limits, ends[1]);
  ::close(ends[1]);

  const auto end = std::chrono::steady_clock::now() + limits.time;
  pollfd waiting{.fd = ends[0], .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
  } while (ready < 0 && errno == EINTR);
  Answer answer;
  const bool lived = ready > 0 && ::read(ends[0], &answer, sizeof(answer)) == sizeof(answer);
  ::close(ends[0]);
  if (!lived) ::kill(child, SIGKILL);
  int how = 0;
  // It has ended, or is being ended; where the program ignores SIGCHLD there is nothing to fetch.
  while (::waitpid(child, &how, 0) < 0 && errno == EINTR) {
  }
  if (lived && answer.ok) return {};
  if (lived) return broken(path, answer.message.data(), answer.code);
  if (ready <= 0) {
    return broken(path,
                  fmt::format("reading the file's header took over {} ms: it is damaged, or its "
                              "storage does not answer",
                              limits.time.count()));
  }
  return broken(path,
                "the file is damaged: the library of its format crashes when it reads the header");
}

}  // namespace weir::storage
