// The part of FailureGuard that watches a run from a thread of its own, for signals and deadlines.
// Simulated ranks, which share one thread, have sim/library/failure_watch.cpp instead.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <utility>

#include "common/clock.hpp"
#include "measurement/failure.hpp"

namespace weir::bench {
namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}

// Returns whether a process has ended. This includes one that was not waited for yet ("Z").
bool is_gone(std::int64_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  std::string line;
  if (!std::getline(stat, line)) return kill(static_cast<pid_t>(process), 0) != 0;
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() &&
         (line[name_end + 2] == 'Z' || line[name_end + 2] == 'X');
}

}  // namespace

void prepare_signals() {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  static_cast<void>(signal(SIGXFSZ, SIG_IGN));
}

FailureGuard::FailureGuard(const Job& job, std::string root, std::vector<std::string> slugs)
    : root_(std::move(root)),
      slugs_(std::move(slugs)),
      host_(job.host),
      rank_(job.rank),
      node_rank_(job.node_rank),
      node_processes_(job.node_processes),
      node_world_ranks_(job.node_world_ranks),
      deadline_seconds_(job.deadline_seconds),
      watcher_([this](const std::stop_token& stop) { watch(stop); }) {}

FailureGuard::~FailureGuard() {
  watcher_.request_stop();
  watcher_.join();
}

void FailureGuard::entering(const char* operation, const std::string* file, std::int64_t offset) {
  operation_ = operation;
  file_ = file;
  offset_ = offset;
  entered_ns_ = monotonic_ns();
}

void FailureGuard::left() { entered_ns_ = 0; }

bool FailureGuard::has_lost_rank(int* lost) const {
  for (std::size_t i = 0; i < node_processes_.size(); ++i) {
    if (static_cast<int>(i) == node_rank_) continue;
    if (is_gone(node_processes_[i])) {
      *lost = node_world_ranks_[i];
      return true;
    }
  }
  return false;
}

Error FailureGuard::describe_signal(int signal) const {
  Error error;
  if (int lost = -1; has_lost_rank(&lost)) {
    error.code = ErrorCode::peer;
    error.rank = lost;
    error.message = fmt::format(
        "was lost on host {}: its process ended without a message (killed, out of memory, or "
        "crashed)",
        host_);
    return error;
  }
  error.code = ErrorCode::interrupted;
  error.message = fmt::format(
      "SIG{} ended this process: it comes from the user (Ctrl-C), a time limit, or the launcher, "
      "which also sends it if a rank on another node is lost",
      sigabbrev_np(signal));
  return error;
}

void FailureGuard::end_process(const std::string& status, const Error& error, int exit_status) {
  // Without it, printing would end this process if its launcher reads nothing any more.
  static_cast<void>(signal(SIGPIPE, SIG_IGN));
  {
    // A file system that hangs must not keep this process from ending.
    std::unique_lock lock(keeping_mutex_, std::chrono::seconds(1));
    ending_ = true;
  }
  record(status, error, host_);
  start_removal();
  if (Status removed = remove_test_files(); !removed) {
    fmt::print(stderr, "weir-bench: {}\n", removed.error().text());
  }
  // The rank that failed first may have been killed before it marked the records.
  constexpr std::chrono::milliseconds patience{300};
  std::this_thread::sleep_for(patience);
  mark_as_first();
  // The files are removed once more because the thread that measures may have been about to create
  // one.
  if (Status removed = remove_test_files(); !removed) {
    fmt::print(stderr, "weir-bench: {}\n", removed.error().text());
  }
  // This is not exit(), because the other threads are still working. Ending with a failure and
  // without MPI_Finalize makes the launcher end the other ranks.
  _exit(exit_status);
}

void FailureGuard::watch(const std::stop_token& stop) {
  const sigset_t set = ending_signals();
  const timespec poll_interval{0, 100'000'000};
  while (!stop.stop_requested()) {
    const int signal = sigtimedwait(&set, nullptr, &poll_interval);
    if (signal > 0) {
      const Error error = describe_signal(signal);
      const bool lost = error.code == ErrorCode::peer;
      end_process(lost ? "failed" : "interrupted", error, lost ? exit_failed : exit_interrupted);
    }
    const std::int64_t entered = entered_ns_;
    if (entered != 0 && seconds_of(monotonic_ns() - entered) > deadline_seconds_) {
      Error error;
      error.code = ErrorCode::deadline;
      error.rank = rank_;
      error.operation = operation_.load();
      if (const std::string* file = file_.load()) error.file = *file;
      error.offset = offset_;
      error.message =
          fmt::format("{} has not returned for {} s (--deadline): the storage does not respond",
                      error.operation, deadline_seconds_);
      end_process("failed", error, exit_failed);
    }
  }
}

}  // namespace weir::bench
