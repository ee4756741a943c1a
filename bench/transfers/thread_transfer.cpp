// The transfer that moves bytes by the same system calls as the posix transfer, in its own thread.
//
// Protocol: one mutex guards `phase_`, which only these steps change:
// clang-format off
//   idle       owned by the caller: start() stores the request and sets `requested`
//   requested  owned by the worker: it takes the request and moves it without the mutex
//   finished   owned by the caller: poll() or wait() takes the result and sets `idle`
// clang-format on
// In the phase `requested`, only the worker accesses the buffer. The owner of the phase owns
// `movement_`.
//
// The worker blocks all signals, so that a signal that is meant to stop the program reaches its
// main thread, and a write beyond the file size limit fails with an errno instead of SIGXFSZ.
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "common/clock.hpp"
#include "common/signals_blocked.hpp"
#include "transfers/move.hpp"

namespace weir::storage {
namespace {

// The steady_clock of libstdc++ counts nanoseconds of CLOCK_MONOTONIC, like monotonic_ns().
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

  // Waits for the system call in flight, which owns the buffer, and starts no further call.
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

  // Returns the result of the last request. The caller holds the mutex, and no request is in
  // progress.
  Status report() {
    if (phase_ == Phase::idle) return {};
    phase_ = Phase::idle;
    timing_ = movement_.timing;
    timing_.start_ns = start_ns_;  // the wake-up of the worker is part of the transfer
    return std::move(movement_.status);
  }

  const File& file_;
  std::int64_t bytes_per_call_;
  int thread_error_ = 0;
  TransferTiming timing_;      // used by the caller only
  std::int64_t start_ns_ = 0;  // used by the caller only

  std::mutex mutex_;
  std::condition_variable_any changed_;
  Phase phase_ = Phase::idle;
  TransferRequest request_;
  Movement movement_;

  std::jthread worker_;  // last: it is joined before the members that it uses are destroyed
};

}  // namespace

std::unique_ptr<Transfer> make_thread_transfer(const File& file, std::int64_t bytes_per_call) {
  return std::make_unique<ThreadTransfer>(file, bytes_per_call);
}

std::unique_ptr<Transfer> make_thread_transfer(const File& file) {
  return make_thread_transfer(file, largest_call);
}

}  // namespace weir::storage
