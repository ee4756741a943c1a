#include "stager/workers.hpp"

#include <utility>

namespace weir::stager {

Workers::Workers(int count) {
  try {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] { run(); });
    }
  } catch (...) {  // the system has no more threads
    end();
    throw;
  }
}

Workers::~Workers() { end(); }

void Workers::end() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& one : threads_) one.join();
}

void Workers::add(std::function<void()> job) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void Workers::run() {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return is_ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
  }
}

}  // namespace weir::stager
