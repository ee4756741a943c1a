// Ends a run that cannot go on: with one message, a result marked as failed, and no test files
// left, and without hanging.
//
// A run fails in one of three ways:
//   1. A rank's operation fails. The ranks learn of it at their next barrier (`agree` in job.hpp)
//      and end together; rank 0 reports the lowest failed rank's error.
//   2. A signal arrives (Ctrl-C, or SIGTERM from the launcher because a rank was lost). A thread of
//      every rank waits for signals; it removes the test files, records the failure and ends the
//      process. The message names a rank of this node that is gone.
//   3. An operation does not return. The same thread notices that it has passed the deadline.
//
// The first process that links its own record to ROOT/failure.json prints the line and rewrites
// every unfinished run.json below ROOT with the status and the failure. The other processes print
// nothing, remove their files, and wait a moment; they finish the record if the first process was
// killed while it wrote it.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>
#include <vector>

#include "common/status.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

// Exit statuses of weir-bench.
inline constexpr int exit_usage = 2;
inline constexpr int exit_failed = 1;
inline constexpr int exit_interrupted = 130;

// Blocks SIGINT, SIGTERM and SIGHUP in this thread and in all threads that it starts, so that MPI's
// threads leave these signals to the guard. Ignores SIGXFSZ, so that a file size limit is an error
// of the write (EFBIG) and does not end the process. Call it before MPI_Init.
void prepare_signals();

// The test files that a rank removes if the run breaks off: its own, and those of its neighbours in
// rank order, because a neighbour may be the rank that was lost.
struct TestFiles {
  std::string directory;  // made for this run; removed when empty
  std::vector<std::string> paths;
  // Folders for workloads with several directories, or whose files come and go. `rank_folders` were
  // made for a rank and are removed with all their content; `job_folders` were made for the job and
  // contain them.
  std::vector<std::string> rank_folders = {};
  std::vector<std::string> job_folders = {};
};

class FailureGuard {
 public:
  // `root` is the folder of results, which exists; `slugs` are its run folders.
  FailureGuard(const Job& job, std::string root, std::vector<std::string> slugs);
  FailureGuard(const FailureGuard&) = delete;
  FailureGuard& operator=(const FailureGuard&) = delete;
  ~FailureGuard();  // stops watching

  void set_test_files(TestFiles files);
  // Removes the files and the directory. Missing files are no error. Returns the first other error.
  Status remove_test_files();

  // Replaces the run.json of a run in progress by what has been measured so far, so that a job that
  // is ended by a signal keeps its finished repetitions. Does nothing once the process is about to
  // end, or if `run` and the writing have taken more than a twentieth of the time since the first
  // call. Call it on rank 0.
  void keep(const std::string& slug, const std::function<const nlohmann::ordered_json&()>& run);

  // Between entering() and left(), the thread ends the process when the deadline passes.
  // `operation` must be a string literal; `file` must live until left().
  void entering(const char* operation, const std::string* file, std::int64_t offset);
  void left();
  // Returns true once the process is about to end. Code that creates files must then create no
  // more.
  [[nodiscard]] bool ending() const { return ending_.load(std::memory_order_relaxed); }

  // Records the failure as described above and prints its line. Call it on one rank.
  void record(const std::string& status, const Error& error, const std::string& host);

 private:
  void watch(const std::stop_token& stop);
  // Returns whether this process is the first to claim the failure, with its record in
  // failure.json.
  [[nodiscard]] bool claim(const nlohmann::ordered_json& failure) const;
  void mark_unfinished(nlohmann::ordered_json failure) const;
  // Marks the records as failure.json says, if a process has claimed the failure: that process may
  // have been killed before it marked them, or its mark may have been overwritten.
  void mark_as_first() const;
  // Starts a separate process that removes the job's folders. A few ranks of each node do so,
  // because any of them may be the lost one. A launcher gives its ranks a second to end, and there
  // may be a million files.
  void start_removal();
  [[noreturn]] void end_process(const std::string& status, const Error& error, int exit_status);
  [[nodiscard]] Error describe_signal(int signal) const;
  [[nodiscard]] bool has_lost_rank(int* lost) const;

  std::string root_;
  std::vector<std::string> slugs_;
  std::string host_;
  int rank_;
  int node_rank_;
  std::vector<std::int64_t> node_processes_;
  std::vector<int> node_world_ranks_;
  double deadline_seconds_;

  // Held while keep() writes: once the process has begun to end, "running" must not be written
  // again.
  std::timed_mutex keeping_mutex_;
  std::int64_t keeping_since_ns_ = 0;
  std::int64_t keeping_ns_ = 0;  // spent in keep()
  bool cannot_keep_ = false;

  std::mutex files_mutex_;
  TestFiles files_;

  std::atomic<bool> ending_{false};
  std::atomic<std::int64_t> entered_ns_{0};  // 0: in no operation
  std::atomic<const char*> operation_{nullptr};
  std::atomic<const std::string*> file_{nullptr};
  std::atomic<std::int64_t> offset_{-1};
  std::jthread watcher_;
};

// Writes `text` to `path` so that a reader sees the old content or the new, never a part: it writes
// a temporary file beside `path`, calls fsync, and renames it. `durable` = false omits the fsync,
// for the second that a launcher gives a dying process.
Status write_file_atomically(const std::string& path, const std::string& text, bool durable = true);

// Returns the "failure" record of run.json.
[[nodiscard]] nlohmann::ordered_json failure_record(const Error& error, const std::string& host);

}  // namespace weir::bench
