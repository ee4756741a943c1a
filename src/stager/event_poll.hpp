// Waits until one of many descriptors is ready (epoll).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::stager {

// Takes a descriptor that a call of the system has returned; fails with errno if it is negative.
[[nodiscard]] Result<storage::File> owned(int descriptor, const char* operation);

class EventPoll {
 public:
  static Result<EventPoll> open();

  // Adds a descriptor with a key by which wait() names it. `what`: EPOLLIN, EPOLLOUT or both.
  [[nodiscard]] Status add(int descriptor, std::uint64_t key, std::uint32_t what) const;
  [[nodiscard]] Status change(int descriptor, std::uint64_t key, std::uint32_t what) const;
  void remove(int descriptor) const;
  // Returns the keys of descriptors that are ready, or none when the time is over.
  [[nodiscard]] std::vector<std::uint64_t> wait(int milliseconds) const;

 private:
  explicit EventPoll(storage::File file) : file_(std::move(file)) {}
  [[nodiscard]] Status control(int operation, int descriptor, std::uint64_t key,
                               std::uint32_t what) const;

  storage::File file_;
};

}  // namespace weir::stager
