// Threads that execute jobs in the order in which they come.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::stager {

class Workers {
 public:
  // Throws std::system_error where the system has not so many threads.
  explicit Workers(int count);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();  // executes what was added

  // The job throws nothing.
  void add(std::function<void()> job);

 private:
  void run();
  void end();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weir::stager
