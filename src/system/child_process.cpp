#include "system/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace weir::storage {
namespace {

#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 34)
constexpr bool closes_descriptors = true;
#else
constexpr bool closes_descriptors = false;
#endif

std::vector<char*> ended_by_null(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// The time between two calls of WhileProgramsRun::act().
constexpr auto between_acts = std::chrono::milliseconds(2);

WhileProgramsRun*& of_this_thread() {
  thread_local WhileProgramsRun* latest = nullptr;
  return latest;
}

// The descriptors and signal settings with which a program is started.
class Start {
 public:
  Start(const std::vector<int>& outputs, int in) {
    posix_spawn_file_actions_init(&files_);
    // The pipe is duplicated first, because descriptors 0 to 2 may be free in this process, so that
    // the pipe may be one of them.
    for (const int output : outputs) posix_spawn_file_actions_adddup2(&files_, in, output);
    int last = 2;
    for (int standard = 0; standard <= 2; ++standard) {
      if (std::find(outputs.begin(), outputs.end(), standard) != outputs.end()) continue;
      posix_spawn_file_actions_addopen(&files_, standard, "/dev/null", O_RDWR, 0);
    }
    if (!outputs.empty()) last = std::max(last, outputs.back());
#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&files_, last + 1);
#endif
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

  [[nodiscard]] StartedChild run(Program program) const {
    std::vector<char*> arguments = ended_by_null(program.words);
    std::vector<char*> own;
    if (program.environment) own = ended_by_null(*program.environment);
    char** const variables = program.environment ? own.data() : environ;
    StartedChild child;
    const auto start = program.in_search_path ? ::posix_spawnp : ::posix_spawn;
    child.reason =
        start(&child.pid, arguments.front(), &files_, &settings_, arguments.data(), variables);
    if (child.reason != 0) child.pid = -1;
    return child;
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t settings_{};
};

// Waits up to `patience` for the end of a child.
ChildEnd fetch(pid_t child, std::chrono::milliseconds patience) {
  auto nap = std::chrono::microseconds(50);
  const auto late = std::chrono::steady_clock::now() + patience;
  for (;;) {
    int how = 0;
    const pid_t fetched = ::waitpid(child, &how, WNOHANG);
    // There is nothing to wait for if this process ignores SIGCHLD.
    if (fetched < 0 && errno != EINTR) return {.ended = true};
    if (fetched == child) {
      ChildEnd end{.ended = true, .signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0};
      if (WIFEXITED(how)) end.exit_status = WEXITSTATUS(how);
      return end;
    }
    if (std::chrono::steady_clock::now() > late) return {};
    std::this_thread::sleep_for(nap);
    nap = std::min<std::chrono::microseconds>(2 * nap, between_acts);
    WhileProgramsRun::act();
  }
}

}  // namespace

WhileProgramsRun::WhileProgramsRun(std::function<void()> act)
    : act_(std::move(act)), outer_(std::exchange(of_this_thread(), this)) {}

WhileProgramsRun::~WhileProgramsRun() { of_this_thread() = outer_; }

bool WhileProgramsRun::act() {
  const WhileProgramsRun* const latest = of_this_thread();
  if (latest == nullptr) return false;
  latest->act_();
  return true;
}

Pipe::Pipe(const std::string& path) {
  if (::pipe2(ends_.data(), O_CLOEXEC) != 0) status_ = system_failure("pipe", path, -1, errno);
}

Pipe::~Pipe() {
  for (int& end : ends_) close(end);
}

void Pipe::close(int& end) {
  if (end >= 0) ::close(std::exchange(end, -1));
}

bool PipeReader::read(void* bytes, std::size_t count) {
  char* next = static_cast<char*>(bytes);
  while (count > 0) {
    const std::size_t got = read_some(next, count);
    if (got == 0) return false;
    next += got;
    count -= got;
  }
  return true;
}

std::size_t PipeReader::read_some(void* bytes, std::size_t most) {
  for (;;) {
    if (!wait()) return 0;
    const ssize_t got = ::read(out_, bytes, most);
    if (got < 0 && errno == EINTR) continue;
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }
}

bool PipeReader::wait() {
  pollfd waiting{.fd = out_, .events = POLLIN, .revents = 0};
  for (bool acts = WhileProgramsRun::act();; acts = WhileProgramsRun::act()) {
    auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
    late_ = left.count() <= 0;
    if (late_) return false;
    if (acts) left = std::min(left, between_acts);
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool can_keep_descriptors_back() { return closes_descriptors; }

StartedChild start_program(const Program& program, const Pipe& outputs) {
  return Start(program.outputs, outputs.in()).run(program);
}

ChildEnd end_child(pid_t child, std::chrono::milliseconds patience) {
  constexpr auto to_be_killed = std::chrono::milliseconds(2000);
  ChildEnd end = fetch(child, patience);
  if (end.ended) return end;
  ::kill(child, SIGKILL);
  return fetch(child, to_be_killed);
}

}  // namespace weir::storage
