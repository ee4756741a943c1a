// The engine that moves by the same calls as the posix one, in a thread of its own.
//
// Protocol: one mutex guards `phase_`, which only these steps change:
//   idle       the caller's: start() stores the request and sets `requested`
//   requested  the worker's: it takes the request and moves it without the mutex
//   finished   the caller's: poll() or wait() takes what came of it and sets `idle`
// While `requested`, only the worker touches the buffer; `movement_` changes hands with the phase.
//
// The worker lets no signal in, so that a signal meant to stop the program reaches its main thread,
// and SIGXFSZ of a write beyond the file size limit stays an errno.
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "common/clock.hpp"
#include "common/signals_blocked.hpp"
#include "storage/engines/move.hpp"

namespace weir::storage {
namespace {

// libstdc++ counts steady_clock on CLOCK_MONOTONIC, in nanoseconds, as monotonic_ns() does.
std::chrono::steady_clock::time_point time_of(std::int64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}

class ThreadTransfer final : public Transfer {
 public:
  ThreadTransfer(const File& file, std::int64_t bytes_per_call)
      : file_(file), bytes_per_call_(bytes_per_call) {
    try {
      const SignalsBlocked blocked;
      worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    } catch (const std::system_error& error) {
      thread_error_ = error.code().value();
    }
  }

  // Waits for the system call in flight, which owns the buffer, and starts no further one.
  ~ThreadTransfer() override = default;

  Status start(const TransferRequest& request) override {
    if (thread_error_ != 0)
      return system_failure("start of a thread", file_.path(), -1, thread_error_);
    if (Status checked = check_request(file_, request); !checked.ok()) return checked;
    {
      const std::lock_guard lock(mutex_);
      if (phase_ != Phase::idle) return still_busy(file_);
      request_ = request;
      start_ns_ = monotonic_ns();
      phase_ = Phase::requested;
    }
    changed_.notify_all();
    return {};
  }

  Result<bool> poll() override {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::requested) return false;
    if (Status status = report(); !status.ok()) return status.error();
    return true;
  }

  Status wait(std::int64_t deadline_ns) override {
    std::unique_lock lock(mutex_);
    const bool done = changed_.wait_until(lock, time_of(deadline_ns),
                                          [this] { return phase_ != Phase::requested; });
    if (!done) return deadline_passed(file_, request_);
    return report();
  }

  [[nodiscard]] TransferTiming timing() const override { return timing_; }
  [[nodiscard]] std::string_view mechanism() const override { return "thread"; }

 private:
  enum class Phase { idle, requested, finished };

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return phase_ == Phase::requested; })) {
      const TransferRequest request = request_;
      lock.unlock();
      Movement movement = move_and_sync(file_, request, bytes_per_call_, stop);
      lock.lock();
      movement_ = std::move(movement);
      phase_ = Phase::finished;
      changed_.notify_all();
    }
  }

  // With the mutex held and no request under way.
  Status report() {
    if (phase_ == Phase::idle) return {};
    phase_ = Phase::idle;
    timing_ = movement_.timing;
    timing_.start_ns = start_ns_;  // the worker's being woken is part of the transfer
    return std::move(movement_.status);
  }

  const File& file_;
  std::int64_t bytes_per_call_;
  int thread_error_ = 0;
  TransferTiming timing_;      // the caller's
  std::int64_t start_ns_ = 0;  // the caller's

  std::mutex mutex_;
  std::condition_variable_any changed_;
  Phase phase_ = Phase::idle;
  TransferRequest request_;
  Movement movement_;

  std::jthread worker_;  // last: stopped and joined before what it uses is gone
};

}  // namespace

std::unique_ptr<Transfer> make_thread_transfer(const File& file, std::int64_t bytes_per_call) {
  return std::make_unique<ThreadTransfer>(file, bytes_per_call);
}

std::unique_ptr<Transfer> make_thread_transfer(const File& file) {
  return make_thread_transfer(file, largest_call);
}

}  // namespace weir::storage
