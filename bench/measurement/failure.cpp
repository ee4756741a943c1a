#include "measurement/failure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "common/clock.hpp"

namespace weir::bench {
namespace {

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

}  // namespace weir::bench
