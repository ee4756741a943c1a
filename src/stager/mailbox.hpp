// A mailbox holds what other threads have for one thread: any of them adds, and the one takes
// everything at once. Its descriptor is readable as long as there may be something.
#pragma once

#include <sys/eventfd.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/status.hpp"
#include "stager/event_poll.hpp"
#include "system/file.hpp"
#include "system/uninterrupted.hpp"

namespace weir::stager {

template <typename Letter>
class Mailbox {
 public:
  static Result<std::unique_ptr<Mailbox>> open() {
    auto event = owned(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
    if (!event) return event.error();
    return std::unique_ptr<Mailbox>(new Mailbox(std::move(event).value()));
  }

  void add(Letter letter) {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      letters_.push_back(std::move(letter));
    }
    (void)storage::uninterrupted([&] { return ::eventfd_write(event_.descriptor(), 1); });
  }
  [[nodiscard]] std::vector<Letter> take() {
    eventfd_t count = 0;  // it may be 0 already
    (void)storage::uninterrupted([&] { return ::eventfd_read(event_.descriptor(), &count); });
    const std::lock_guard<std::mutex> guard(mutex_);
    return std::exchange(letters_, {});
  }
  [[nodiscard]] int descriptor() const { return event_.descriptor(); }

 private:
  explicit Mailbox(storage::File event) : event_(std::move(event)) {}

  storage::File event_;
  std::mutex mutex_;
  std::vector<Letter> letters_;
};

}  // namespace weir::stager
