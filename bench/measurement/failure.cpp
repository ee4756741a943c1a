#include "measurement/failure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "common/clock.hpp"

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

constexpr int sweepers_per_node = 2;

// Removes the remaining files of a directory that was made for one run, and the directory. Files
// that other ranks remove meanwhile are no error. The directory stays if something in it cannot be
// removed.
void sweep(const std::string& directory) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code gone;
    std::filesystem::remove(entry->path(), gone);
  }
  rmdir(directory.c_str());
}

// Removes a folder with all its content. Other ranks may do so at the same time, and the thread
// that measures may still be creating files in it. The removal is therefore repeated until the
// folder is gone, after which nothing more can be created there. Returns the last error that
// neither of these explains.
Status remove_folder(const std::string& folder) {
  constexpr int attempts = 50;
  constexpr std::chrono::milliseconds pause{5};
  std::error_code error;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::filesystem::remove_all(folder, error);
    std::error_code unknown;
    if (!std::filesystem::exists(folder, unknown)) return {};
    if (error && error != std::errc::directory_not_empty &&
        error != std::errc::no_such_file_or_directory) {
      break;
    }
    std::this_thread::sleep_for(pause);
  }
  return system_failure("unlink", folder, -1, error ? error.value() : ENOTEMPTY);
}

const char* cause_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::mismatch:
    case ErrorCode::given_up:
      return "invalid_argument";
    case ErrorCode::io:
      break;
    case ErrorCode::short_transfer:
      return "short_transfer";
    case ErrorCode::corrupt:
      return "corrupt_data";
    case ErrorCode::deadline:
      return "deadline";
    case ErrorCode::insufficient:
      return "insufficient";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::peer:
    case ErrorCode::communication:
      return "lost_rank";
    case ErrorCode::interrupted:
      return "interrupted";
  }
  const char* name = error.system_error != 0 ? strerrorname_np(error.system_error) : nullptr;
  return name != nullptr ? name : "io";
}

}  // namespace

void prepare_signals() {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  static_cast<void>(signal(SIGXFSZ, SIG_IGN));
}

Status write_file_atomically(const std::string& path, const std::string& text, bool durable) {
  // Two threads of a process may write the same record, when a run ends by a failure.
  const std::string temporary = fmt::format("{}.{}.tmp", path, gettid());
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return system_failure("open", temporary, -1, errno);
  std::size_t done = 0;
  int error = 0;
  while (done < text.size() && error == 0) {
    const ssize_t written = write(descriptor, text.data() + done, text.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0 && durable && fsync(descriptor) != 0) error = errno;
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    return system_failure("write", path, -1, error);
  }
  return {};
}

nlohmann::ordered_json failure_record(const Error& error, const std::string& host) {
  nlohmann::ordered_json record;
  record["message"] = error.text();
  record["cause"] = cause_of(error);
  record["operation"] = error.operation;
  record["rank"] = error.rank >= 0 ? nlohmann::ordered_json(error.rank) : nullptr;
  record["host"] = host.empty() ? nullptr : nlohmann::ordered_json(host);
  record["file"] = error.file.empty() ? nullptr : nlohmann::ordered_json(error.file);
  record["offset_bytes"] = error.offset >= 0 ? nlohmann::ordered_json(error.offset) : nullptr;
  return record;
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

void FailureGuard::set_test_files(TestFiles files) {
  const std::lock_guard lock(files_mutex_);
  files_ = std::move(files);
}

Status FailureGuard::remove_test_files() {
  const std::lock_guard lock(files_mutex_);
  Status first;
  for (const std::string& path : files_.paths) {
    if (unlink(path.c_str()) != 0 && errno != ENOENT && first.ok()) {
      first = system_failure("unlink", path, -1, errno);
    }
  }
  for (const std::string& folder : files_.rank_folders) {
    if (Status removed = remove_folder(folder); !removed && first.ok()) first = removed;
  }
  for (const std::string& folder : files_.job_folders) {
    // The folder is not empty yet because other ranks remove their own. A few ranks remove those of
    // lost ranks.
    if (rmdir(folder.c_str()) == 0 || errno == ENOENT || node_rank_ >= sweepers_per_node) continue;
    if (Status removed = remove_folder(folder); !removed && first.ok()) first = removed;
  }
  if (files_.directory.empty() || rmdir(files_.directory.c_str()) == 0 || errno == ENOENT) {
    return first;
  }
  if (errno != ENOTEMPTY && errno != EEXIST) {
    return first.ok() ? system_failure("rmdir", files_.directory, -1, errno) : first;
  }
  // Other ranks remove their own files. But an MPI library puts its own files beside the data, and
  // a lost rank removes nothing, so a few ranks per node look at everything that is left.
  if (node_rank_ < sweepers_per_node) sweep(files_.directory);
  return first;
}

void FailureGuard::keep(const std::string& slug,
                        const std::function<const nlohmann::ordered_json&()>& run) {
  constexpr std::int64_t most_of_the_time = 20;
  const std::lock_guard lock(keeping_mutex_);
  const std::int64_t began = monotonic_ns();
  if (keeping_since_ns_ == 0) keeping_since_ns_ = began;
  if (ending() || cannot_keep_ || keeping_ns_ * most_of_the_time > began - keeping_since_ns_) {
    return;
  }
  const std::string path = fmt::format("{}/{}/run.json", root_, slug);
  if (Status written = write_file_atomically(path, run().dump(1) + "\n", false); !written) {
    fmt::print(stderr, "weir-bench: finished repetitions could not be stored: {}\n",
               written.error().text());
    cannot_keep_ = true;
  }
  // Another rank may have marked the record that was just replaced.
  mark_as_first();
  keeping_ns_ += monotonic_ns() - began;
}

void FailureGuard::entering(const char* operation, const std::string* file, std::int64_t offset) {
  operation_ = operation;
  file_ = file;
  offset_ = offset;
  entered_ns_ = monotonic_ns();
}

void FailureGuard::left() { entered_ns_ = 0; }

void FailureGuard::record(const std::string& status, const Error& error, const std::string& host) {
  nlohmann::ordered_json failure = failure_record(error, host);
  failure["status"] = status;
  if (!claim(failure)) {
    mark_as_first();  // this process may have replaced the records since the first one marked them
    return;
  }
  // The record comes first: a launcher that got a signal may read nothing any more.
  mark_unfinished(std::move(failure));
  fmt::print(stderr, "weir-bench: {}: {}\n", status, error.text());
}

void FailureGuard::mark_as_first() const {
  std::ifstream file(root_ + "/failure.json");
  auto first = nlohmann::ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (first.is_object() && first.contains("status")) mark_unfinished(std::move(first));
}

bool FailureGuard::claim(const nlohmann::ordered_json& failure) const {
  // The record is written first and then linked, so that a process that sees the claim sees all of
  // it.
  const std::string path = root_ + "/failure.json";
  const std::string own = fmt::format("{}/failure.json.{}.{}", root_, host_, getpid());
  if (Status written = write_file_atomically(own, failure.dump(2) + "\n", false); !written) {
    fmt::print(stderr, "weir-bench: {}\n", written.error().text());
    return true;  // perhaps no other process succeeds either, and the user must see the failure
  }
  const bool won = link(own.c_str(), path.c_str()) == 0 || errno != EEXIST;
  unlink(own.c_str());
  return won;
}

void FailureGuard::mark_unfinished(nlohmann::ordered_json failure) const {
  const std::string status = failure["status"];
  failure.erase("status");
  for (const std::string& slug : slugs_) {
    const std::string path = fmt::format("{}/{}/run.json", root_, slug);
    std::ifstream file(path);
    auto run = nlohmann::ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (run.is_discarded() || !run.is_object() || run["status"] != "running") continue;
    run["status"] = status;
    run["failure"] = failure;
    run["finished_utc"] = utc_now();
    if (Status written = write_file_atomically(path, run.dump(1) + "\n", false); !written) {
      fmt::print(stderr, "weir-bench: {}\n", written.error().text());
    }
  }
}

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

void FailureGuard::start_removal() {
  const std::lock_guard lock(files_mutex_);
  if (files_.job_folders.empty() || node_rank_ >= sweepers_per_node) return;
  std::string program = "rm";
  std::string options = "-rf";
  std::string end_of_options = "--";
  std::vector<char*> arguments{program.data(), options.data(), end_of_options.data()};
  for (std::string& folder : files_.job_folders) arguments.push_back(folder.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t process = 0;
  // Without the program "rm", only what remove_test_files() reaches in its second is removed.
  static_cast<void>(posix_spawnp(&process, "rm", nullptr, &attributes, arguments.data(), environ));
  posix_spawnattr_destroy(&attributes);
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
