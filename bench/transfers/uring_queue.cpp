// Invariant: the next wait_one() passes every entry that submit() prepared to the kernel, in one
// system call that also waits if there is no completion yet. There is thus at most one call per
// transfer.
#include <liburing.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "transfers/move.hpp"
#include "transfers/queue.hpp"

namespace weir::storage {
namespace {

constexpr int most_depth = 4096;

class UringQueue final : public TransferQueue {
 public:
  UringQueue(const File& file, int depth) : file_(file), slots_(static_cast<std::size_t>(depth)) {}
  UringQueue(const UringQueue&) = delete;
  UringQueue& operator=(const UringQueue&) = delete;

  ~UringQueue() override {
    if (!open_) return;
    if (unsubmitted_ > 0) static_cast<void>(io_uring_submit(&ring_));
    while (in_flight_ > 0) {
      io_uring_cqe* answer = nullptr;
      if (io_uring_wait_cqe(&ring_, &answer) != 0) continue;
      io_uring_cqe_seen(&ring_, answer);
      --in_flight_;
    }
    io_uring_queue_exit(&ring_);
  }

  int open() {
    const int failed = io_uring_queue_init(static_cast<unsigned>(slots_.size()), &ring_, 0);
    open_ = failed == 0;
    return -failed;
  }

  Status submit(int slot, const TransferRequest& request) override {
    if (Status checked = check_request(file_, request); !checked) return checked;
    Slot& used = slots_.at(static_cast<std::size_t>(slot));
    used = {request, 0};
    ++in_flight_;
    return prepare(used);
  }

  Result<QueueEnd> wait_one() override {
    while (in_flight_ > 0) {
      io_uring_cqe* answer = nullptr;
      const bool ready = io_uring_peek_cqe(&ring_, &answer) == 0;
      if (unsubmitted_ > 0 || !ready) {
        if (Status entered = enter(ready ? 0 : 1); !entered) return entered.error();
        if (io_uring_peek_cqe(&ring_, &answer) != 0) continue;
      }
      auto* slot = static_cast<Slot*>(io_uring_cqe_get_data(answer));
      const int moved = answer->res;
      io_uring_cqe_seen(&ring_, answer);
      const std::int64_t now = monotonic_ns();
      auto finished = judge(*slot, moved);
      if (!finished) {
        --in_flight_;
        return finished.error();
      }
      if (!finished.value()) continue;
      --in_flight_;
      return QueueEnd{static_cast<int>(slot - slots_.data()), now};
    }
    return invalid_argument("waited for a transfer while none is in flight");
  }

  [[nodiscard]] int in_flight() const override { return in_flight_; }

 private:
  struct Slot {
    TransferRequest request;
    std::int64_t moved = 0;
  };

  Status prepare(Slot& slot) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
      --in_flight_;
      return system_failure("submission to io_uring", file_.path(), slot.request.offset, EAGAIN);
    }
    std::byte* place = slot.request.buffer + slot.moved;
    const auto bytes = static_cast<unsigned>(slot.request.bytes - slot.moved);
    const auto offset = static_cast<std::uint64_t>(slot.request.offset + slot.moved);
    if (slot.request.direction == Direction::read) {
      io_uring_prep_read(entry, file_.descriptor(), place, bytes, offset);
    } else {
      io_uring_prep_write(entry, file_.descriptor(), place, bytes, offset);
    }
    io_uring_sqe_set_data(entry, &slot);
    ++unsubmitted_;
    return {};
  }

  Status enter(unsigned wait_for) {
    const int taken =
        wait_for > 0 ? io_uring_submit_and_wait(&ring_, wait_for) : io_uring_submit(&ring_);
    if (taken >= 0) {
      unsubmitted_ -= taken;
      return {};
    }
    if (taken == -EINTR || taken == -EAGAIN || taken == -EBUSY) return {};
    return system_failure("io_uring_enter", file_.path(), -1, -taken);
  }

  // Returns whether the slot's request is complete. If only a part was moved, begins the rest.
  Result<bool> judge(Slot& slot, int moved) {
    if (moved == -EINTR || moved == -EAGAIN)
      moved = 0;
    else if (moved < 0)
      return move_failure(file_, slot.request, slot.moved, -moved);
    else if (moved == 0)
      return moved_nothing(file_, slot.request, slot.moved);
    slot.moved += moved;
    if (slot.moved == slot.request.bytes) return true;
    if (Status again = prepare(slot); !again) {
      ++in_flight_;  // the caller decrements it
      return again.error();
    }
    return false;
  }

  const File& file_;
  io_uring ring_{};
  bool open_ = false;
  std::vector<Slot> slots_;  // the ring's completions point here: never resized
  int in_flight_ = 0;
  int unsubmitted_ = 0;
};

}  // namespace

Result<std::unique_ptr<TransferQueue>> make_uring_queue(const File& file, int depth) {
  if (depth < 1 || depth > most_depth) {
    return invalid_argument("the depth of an io_uring queue must lie between 1 and 4096");
  }
  auto queue = std::make_unique<UringQueue>(file, depth);
  if (const int refused = queue->open(); refused != 0) {
    Error error = system_failure("set-up of io_uring", file.path(), -1, refused);
    error.code = ErrorCode::unsupported;
    return error;
  }
  return std::unique_ptr<TransferQueue>(std::move(queue));
}

}  // namespace weir::storage
