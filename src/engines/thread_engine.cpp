// The engine that moves bytes by blocking system calls in threads of its own.
//
// Protocol: one mutex guards the two lists. start() appends a request to `waiting_`; a worker takes
// the first one, executes it without the mutex, and appends it to `done_`; advance() takes it from
// there and ends it in the caller's thread. Each worker executes one request at a time. A further
// worker is started for a request that no idle worker can take, up to most_threads.
//
// The workers block all signals, so that a signal that is meant to stop the program reaches its
// main thread, and a write beyond the file size limit fails with an errno instead of SIGXFSZ.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/signals_blocked.hpp"
#include "engines/blocking_engine.hpp"
#include "engines/range_parts.hpp"
#include "engines/system_file.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t most_threads = 4;

// The steady_clock of libstdc++ counts nanoseconds of CLOCK_MONOTONIC, like monotonic_ns().
std::chrono::steady_clock::time_point time_of(std::int64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}

Status move_range(const FileRange& range, Direction direction, std::int64_t bytes_per_call,
                  const std::stop_token& stop, FileTraffic& traffic) {
  const File& file = static_cast<const SystemFile*>(range.file)->file();
  std::int64_t moved = 0;
  Status status = move_in_parts(
      range, bytes_per_call, [&](std::span<const Slice> slices, std::int64_t offset) -> Status {
        if (stop.stop_requested()) {
          return Error(ErrorCode::interrupted, "the engine was closed", file.path(), offset);
        }
        std::int64_t bytes = 0;
        Status now = direction == Direction::write
                         ? write_slices(file, slices, offset, bytes, traffic.calls)
                         : read_slices(file, slices, offset, bytes, traffic.calls);
        moved += bytes;
        return now.ok() && bytes < bytes_of(slices) ? system_file_ends_early(range)
                                                    : std::move(now);
      });
  (direction == Direction::write ? traffic.written : traffic.read) += moved;
  traffic.moved += moved;
  return status.ok() ? status : explained(range, direction, std::move(status));
}

class ThreadEngine final : public Engine {
 public:
  explicit ThreadEngine(std::int64_t bytes_per_call) : bytes_per_call_(bytes_per_call) {}
  ThreadEngine(const ThreadEngine&) = delete;
  ThreadEngine& operator=(const ThreadEngine&) = delete;
  // Waits for the system calls in progress, which own memory, and begins no further one.
  ~ThreadEngine() override {
    for (std::jthread& worker : workers_) worker.request_stop();
  }

  [[nodiscard]] std::string_view name() const override { return "thread"; }
  [[nodiscard]] EngineAbilities abilities() const override {
    return {.several_at_once = true, .in_background = true};
  }
  Result<std::unique_ptr<EngineFile>> open(const std::string& path,
                                           const Opening& opening) override {
    auto opened = open_system_file(path, opening);
    if (!opened) return opened.error();
    return std::unique_ptr<EngineFile>(std::make_unique<SystemFile>(std::move(opened).value()));
  }

 private:
  void start(EngineRequest& request) override {
    std::unique_lock lock(mutex_);
    waiting_.push_back(&request);
    const int refused =
        idle_ < waiting_.size() && workers_.size() < most_threads ? add_worker() : 0;
    if (refused != 0 && workers_.empty()) {
      waiting_.pop_back();
      request.status =
          system_failure("start of a thread", request.ranges.front().file->path(), -1, refused);
      end(request);
      return;
    }
    lock.unlock();
    requested_.notify_one();
  }

  void advance(std::int64_t until_ns) override {
    std::unique_lock lock(mutex_);
    const auto is_done = [this] { return !done_.empty(); };
    if (until_ns == no_deadline) {
      finished_.wait(lock, is_done);
    } else if (until_ns > 0) {
      finished_.wait_until(lock, time_of(until_ns), is_done);
    }
    for (EngineRequest* const request : std::exchange(done_, {})) end(*request);
  }

  // Returns 0 or errno.
  int add_worker() {
    try {
      const SignalsBlocked blocked;
      workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    } catch (const std::system_error& error) {
      return error.code().value();
    }
    return 0;
  }

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ++idle_;
    while (requested_.wait(lock, stop, [this] { return !waiting_.empty(); }) &&
           !stop.stop_requested()) {
      EngineRequest& request = *waiting_.front();
      waiting_.pop_front();
      --idle_;
      lock.unlock();
      execute(request, stop);
      lock.lock();
      ++idle_;
      done_.push_back(&request);
      finished_.notify_one();
    }
    --idle_;
  }

  void execute(EngineRequest& request, const std::stop_token& stop) const {
    for (const FileRange& range : request.ranges) {
      if (!request.status.ok()) break;
      request.status = move_range(range, request.direction, bytes_per_call_, stop, request.traffic);
    }
    request.times.moved_ns = monotonic_ns();
    if (request.durability == Durability::none) return;
    if (request.status.ok()) {
      request.status = sync_system_files(files_of(request), request.durability);
    }
    request.times.durable_ns = monotonic_ns();
  }

  std::int64_t bytes_per_call_;
  std::mutex mutex_;
  std::condition_variable_any requested_;
  std::condition_variable_any finished_;
  std::deque<EngineRequest*> waiting_;
  std::vector<EngineRequest*> done_;
  std::size_t idle_ = 0;               // workers that wait for a request
  std::vector<std::jthread> workers_;  // last: joined before what they use is destroyed
};

}  // namespace

std::unique_ptr<Engine> make_thread_engine(const EngineLimits& limits) {
  return std::make_unique<ThreadEngine>(limits.bytes_per_call);
}

}  // namespace weir::storage
