#include "stager/event_poll.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "system/uninterrupted.hpp"

namespace weir::stager {

Result<storage::File> owned(int descriptor, const char* operation) {
  if (descriptor < 0) return system_failure(operation, "", -1, errno);
  return storage::File::passed(descriptor, "", 0);
}

Result<EventPoll> EventPoll::open() {
  auto file = owned(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  if (!file) return file.error();
  return EventPoll(std::move(file).value());
}

Status EventPoll::control(int operation, int descriptor, std::uint64_t key,
                          std::uint32_t what) const {
  epoll_event event{};
  event.events = what;
  event.data.u64 = key;
  if (::epoll_ctl(file_.descriptor(), operation, descriptor, &event) == 0) return {};
  return system_failure("epoll_ctl", "", -1, errno);
}

Status EventPoll::add(int descriptor, std::uint64_t key, std::uint32_t what) const {
  return control(EPOLL_CTL_ADD, descriptor, key, what);
}

Status EventPoll::change(int descriptor, std::uint64_t key, std::uint32_t what) const {
  return control(EPOLL_CTL_MOD, descriptor, key, what);
}

void EventPoll::remove(int descriptor) const {
  (void)control(EPOLL_CTL_DEL, descriptor, 0, 0);  // it may have been removed already
}

std::vector<std::uint64_t> EventPoll::wait(int milliseconds) const {
  std::array<epoll_event, 64> events{};
  const int count = storage::uninterrupted([&] {
    return ::epoll_wait(file_.descriptor(), events.data(), static_cast<int>(events.size()),
                        milliseconds);
  });
  std::vector<std::uint64_t> keys;
  keys.reserve(events.size());
  for (int i = 0; i < count; ++i) {
    // The system's structure is packed, so that nothing may refer to the number in it.
    const std::uint64_t key = events.at(static_cast<std::size_t>(i)).data.u64;
    keys.push_back(key);
  }
  return keys;
}

}  // namespace weir::stager
