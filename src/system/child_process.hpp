// Programs that this process starts, whose output it reads from a pipe until a deadline, and that
// it then ends.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"

namespace weir::storage {

// A pipe. Both of its ends are closed in programs that this process starts.
class Pipe {
 public:
  explicit Pipe(const std::string& path);  // `path` appears in error messages
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe();

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] int out() const { return ends_[0]; }
  [[nodiscard]] int in() const { return ends_[1]; }
  void close_in() { close(ends_[1]); }

 private:
  static void close(int& end);

  std::array<int, 2> ends_{-1, -1};
  Status status_;
};

// While an object of this class exists, its thread calls `act` repeatedly while it waits for a
// program. If several objects exist, the thread calls the most recent one. The object is
// thread-local, like that of ranks/progress.hpp, because a function that starts a program deep in a
// call chain does not know which work of its callers must make progress.
class WhileProgramsRun {
 public:
  explicit WhileProgramsRun(std::function<void()> act);
  WhileProgramsRun(const WhileProgramsRun&) = delete;
  WhileProgramsRun& operator=(const WhileProgramsRun&) = delete;
  ~WhileProgramsRun();

  // Calls the function of this thread's latest object. Returns false if there is no object.
  static bool act();

 private:
  std::function<void()> act_;
  WhileProgramsRun* outer_;
};

// Reads from a pipe until a deadline, `time` after construction.
class PipeReader {
 public:
  PipeReader(int out, std::chrono::milliseconds time)
      : out_(out), end_(std::chrono::steady_clock::now() + time) {}

  // Reads exactly `count` bytes. Returns false if the writer ends or the deadline passes before
  // that.
  bool read(void* bytes, std::size_t count);
  // Reads at least 1 and at most `most` bytes. Returns 0 if the writer has ended or the deadline
  // has passed.
  std::size_t read_some(void* bytes, std::size_t most);
  [[nodiscard]] bool is_late() const { return late_; }

 private:
  bool wait();

  int out_;
  std::chrono::steady_clock::time_point end_;
  bool late_ = false;
};

struct Program {
  std::vector<std::string> words;  // its name, then its arguments
  bool in_search_path = false;     // the name is looked up in PATH; otherwise it is a path
  // Descriptors of the program that write into the pipe, in ascending order. Other descriptors from
  // 0 to 2 are connected to /dev/null.
  std::vector<int> outputs = {1, 2};
  // Variables such as "PATH=/bin". If this is empty, the program gets the environment of this
  // process.
  std::optional<std::vector<std::string>> environment = std::nullopt;
};

// Returns whether the system can prevent a program from inheriting descriptors that are not marked
// close-on-exec.
[[nodiscard]] bool can_keep_descriptors_back();

struct StartedChild {
  pid_t pid = -1;
  int reason = 0;  // errno if `pid` is -1
};

// Starts the program with default signal settings. If can_keep_descriptors_back(), the program
// inherits no descriptors of this process.
[[nodiscard]] StartedChild start_program(const Program& program, const Pipe& outputs);

struct ChildEnd {
  bool ended = false;
  int signal = 0;  // signal that ended the child; 0: none or unknown
  // Empty if a signal ended the child, or if this process ignores SIGCHLD, so that the system does
  // not report the exit status.
  std::optional<int> exit_status = std::nullopt;
};

// Waits up to `patience` for the child to end by itself, then kills it. A child that is blocked in
// storage I/O may survive the signal; after 2 s, end_child() returns with `ended` false and leaves
// it running.
ChildEnd end_child(pid_t child, std::chrono::milliseconds patience);

}  // namespace weir::storage
