#include "engines/uring.hpp"

#include <algorithm>
#include <cerrno>

#include "common/clock.hpp"
#include "engines/engine.hpp"

namespace weir::storage {
namespace {

// Maximum size of one registered piece of memory that the kernel accepts.
constexpr std::size_t most_registered_bytes = std::size_t{1} << 30;

}  // namespace

Uring::~Uring() {
  if (open_) io_uring_queue_exit(&ring_);
}

// Flags that leave completions to the caller's next system call (IORING_SETUP_COOP_TASKRUN,
// DEFER_TASKRUN) are not set: linked entries must follow each other while the caller computes.
int Uring::open(unsigned entries) {
  const int failed = io_uring_queue_init(entries, &ring_, 0);
  if (failed < 0) return -failed;
  open_ = true;
  return (ring_.features & IORING_FEAT_EXT_ARG) != 0 ? 0 : ENOSYS;
}

unsigned Uring::drop_unsubmitted() {
  io_uring_sq& queue = ring_.sq;
  const unsigned dropped = queue.sqe_tail - queue.sqe_head;
  queue.sqe_tail = queue.sqe_head;
  return dropped;
}

int Uring::enter(std::int64_t until_ns) {
  int result = 0;
  if (until_ns == no_deadline) {
    result = io_uring_submit_and_wait(&ring_, 1);
  } else {
    if (unsubmitted() > 0) result = io_uring_submit(&ring_);
    const std::int64_t left_ns = until_ns == 0 ? 0 : until_ns - monotonic_ns();
    if (result >= 0 && left_ns > 0) {
      __kernel_timespec timeout{.tv_sec = left_ns / 1'000'000'000,
                                .tv_nsec = left_ns % 1'000'000'000};
      io_uring_cqe* unused = nullptr;
      result = io_uring_wait_cqe_timeout(&ring_, &unused, &timeout);
    }
  }
  const bool goes_on =
      result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY || result == -ETIME;
  return goes_on ? 0 : -result;
}

int Uring::add_file(int descriptor) {
  if (!tried_files_) {
    tried_files_ = true;
    std::array<int, most_registered_files> none{};
    none.fill(-1);
    registers_files_ = io_uring_register_files(&ring_, none.data(), most_registered_files) == 0;
  }
  if (!registers_files_) return -1;
  const auto free = std::find(used_.begin(), used_.end(), false);
  if (free == used_.end()) return -1;
  const auto number = static_cast<unsigned>(free - used_.begin());
  if (io_uring_register_files_update(&ring_, number, &descriptor, 1) != 1) return -1;
  *free = true;
  return static_cast<int>(number);
}

void Uring::remove_file(int number) {
  if (number < 0) return;
  const int none = -1;
  (void)io_uring_register_files_update(&ring_, static_cast<unsigned>(number), &none, 1);
  used_[static_cast<std::size_t>(number)] = false;
}

void Uring::expect_memory(std::span<const std::span<std::byte>> areas) {
  if (!areas_.empty()) (void)io_uring_unregister_buffers(&ring_);
  areas_.clear();
  expected_.assign(areas.begin(), areas.end());
}

void Uring::register_memory() {
  if (expected_.empty()) return;
  for (std::span<std::byte> area : expected_) {
    while (!area.empty()) {
      const std::size_t bytes = std::min(area.size(), most_registered_bytes);
      areas_.push_back({area.data(), bytes});
      area = area.subspan(bytes);
    }
  }
  expected_.clear();
  const auto count = static_cast<unsigned>(areas_.size());
  if (io_uring_register_buffers(&ring_, areas_.data(), count) != 0) areas_.clear();
}

int Uring::area_of(const iovec& memory) const {
  const auto* const start = static_cast<const std::byte*>(memory.iov_base);
  for (std::size_t i = 0; i < areas_.size(); ++i) {
    const auto* const area = static_cast<const std::byte*>(areas_[i].iov_base);
    if (start >= area && start + memory.iov_len <= area + areas_[i].iov_len) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace weir::storage
