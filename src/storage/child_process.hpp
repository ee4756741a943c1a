// Programs that this process starts, hears through a pipe until a deadline, and ends.
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

// A pipe whose ends are both closed in programs that this process starts.
class Pipe {
 public:
  explicit Pipe(const std::string& path);  // what errors name
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

// What this thread does again and again while it waits for a program, as long as this lives: of
// several the one that was made last. Each thread has its own, as in ranks/progress.hpp: who starts
// a program far below a call is not given what the callers have to keep moving.
class WhileProgramsRun {
 public:
  explicit WhileProgramsRun(std::function<void()> act);
  WhileProgramsRun(const WhileProgramsRun&) = delete;
  WhileProgramsRun& operator=(const WhileProgramsRun&) = delete;
  ~WhileProgramsRun();

  // Acts, where there is something to do. Returns whether there was.
  static bool act();

 private:
  std::function<void()> act_;
  WhileProgramsRun* outer_;
};

// What comes out of a pipe until a deadline, which begins now.
class PipeReader {
 public:
  PipeReader(int out, std::chrono::milliseconds time)
      : out_(out), end_(std::chrono::steady_clock::now() + time) {}

  // Exactly so many bytes. False when fewer come because the writer has ended or the time is over.
  bool read(void* bytes, std::size_t count);
  // One byte at least and `most` at most; 0 when the writer has ended or the time is over.
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
  // Descriptors of the program that write into the pipe, in ascending order. Others of 0 to 2 lead
  // nowhere.
  std::vector<int> outputs = {1, 2};
  // Words such as "PATH=/bin"; nothing: as this process has it.
  std::optional<std::vector<std::string>> environment = std::nullopt;
};

// Whether a program can be kept from inheriting descriptors that this process did not close for it.
[[nodiscard]] bool can_keep_descriptors_back();

struct StartedChild {
  pid_t pid = -1;
  int reason = 0;  // the number of the error where `pid` is -1
};

// Starts the program with default signal settings, and without descriptors of this process where
// can_keep_descriptors_back().
[[nodiscard]] StartedChild start_program(const Program& program, const Pipe& outputs);

struct ChildEnd {
  bool ended = false;
  int signal = 0;  // that ended it; 0: none, or it is not known
  // Nothing: a signal ended it, or the process ignores SIGCHLD, and the system does not tell.
  std::optional<int> exit_status = std::nullopt;
};

// Gives the child so long to end by itself, then kills it. A child that waits for its storage may
// outlive its killing: it is left after a while, and has not ended.
ChildEnd end_child(pid_t child, std::chrono::milliseconds patience);

}  // namespace weir::storage
