// The transfer that the kernel executes in the background by io_uring.
//
// Protocol: a request is moved in batches. A batch is one chain of linked entries: the pieces not
// yet moved, in the file's order, and after the last piece the durable sync. The whole batch
// therefore runs without the caller. The kernel begins an entry only if the previous entry moved
// all its bytes; otherwise it cancels the rest of the chain. poll() and wait() collect completions.
// When a batch is complete, they evaluate it and submit the rest as a new batch:
//
// clang-format off
//     start() ── batch ──► piece ─► piece ─► … ─► sync ──► all completed ──► finished
//                  ▲                                           │
//                  └── moved less than requested, or more pieces than fit into one batch
// clang-format on
//
// Invariants: every entry that a function prepares is submitted before the function returns. While
// `outstanding_` > 0, the kernel owns the buffer, and only then does the transfer wait for it.
//
// Every entry has IOSQE_ASYNC: without it, the kernel would first try to move the bytes during the
// submission, that is, in the caller's time. Flags that leave completions to the caller's next
// system call (IORING_SETUP_COOP_TASKRUN, DEFER_TASKRUN) are not set for the same reason: a chain
// must continue while its caller computes.
#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "common/clock.hpp"
#include "transfers/move.hpp"

namespace weir::storage {
namespace {

constexpr unsigned batch_entries = 32;

class TransferRing {
 public:
  TransferRing() = default;
  TransferRing(const TransferRing&) = delete;
  TransferRing& operator=(const TransferRing&) = delete;
  ~TransferRing() { close(); }

  // Opens the ring. Returns 0 or the errno. An older kernel than Linux 5.11, whose ring does not
  // support waiting with a timeout, counts as having no io_uring.
  int open() {
    if (open_) return 0;
    const int failed = io_uring_queue_init(batch_entries, &ring_, 0);
    if (failed < 0) return -failed;
    open_ = true;
    if ((ring_.features & IORING_FEAT_EXT_ARG) != 0) return 0;
    close();
    return ENOSYS;
  }

  void close() {
    if (open_) io_uring_queue_exit(&ring_);
    open_ = false;
  }

  io_uring* get() { return &ring_; }

 private:
  io_uring ring_{};
  bool open_ = false;
};

struct Entry {
  bool is_sync = false;
  std::int64_t bytes = 0;  // bytes of a piece
  bool answered = false;
  int answer = 0;  // bytes moved, or -errno
};

class UringTransfer final : public Transfer {
 public:
  UringTransfer(const File& file, std::int64_t bytes_per_call)
      : file_(file), bytes_per_call_(bytes_per_call) {}
  UringTransfer(const UringTransfer&) = delete;
  UringTransfer& operator=(const UringTransfer&) = delete;

  // Cancels the entries that have not begun and waits for the system call in flight, which owns the
  // buffer.
  ~UringTransfer() override {
    if (outstanding_ > 0) cancel_outstanding();
    wait_for_outstanding();
  }

  int open_ring() { return ring_.open(); }

  Status start(const TransferRequest& request) override {
    if (busy_) return still_busy(file_);
    if (Status checked = check_request(file_, request); !checked.ok()) return checked;
    if (const int refused = ring_.open(); refused != 0) {
      return system_failure("set-up of io_uring", file_.path(), request.offset, refused);
    }
    request_ = request;
    moved_ = 0;
    synced_ = request.durability == Durability::none;
    timing_ = {.start_ns = monotonic_ns()};
    if (Status submitted = submit_batch(); !submitted.ok()) return submitted;
    busy_ = true;
    return {};
  }

  Result<bool> poll() override {
    if (!busy_) return true;
    if (Status status = advance(); !status.ok()) return status.error();
    return !busy_;
  }

  Status wait(std::int64_t deadline_ns) override {
    while (busy_) {
      if (Status status = advance(); !status.ok()) return status;
      if (!busy_) break;
      const std::int64_t left_ns = deadline_ns - monotonic_ns();
      if (left_ns <= 0) return deadline_passed(file_, request_);
      __kernel_timespec timeout{.tv_sec = left_ns / 1'000'000'000,
                                .tv_nsec = left_ns % 1'000'000'000};
      io_uring_cqe* unused = nullptr;
      const int failed = io_uring_wait_cqe_timeout(ring_.get(), &unused, &timeout);
      const bool go_on = failed == 0 || failed == -ETIME || failed == -EINTR || failed == -EAGAIN;
      if (!go_on) {
        wait_for_outstanding();
        return finish(system_failure("io_uring_enter", file_.path(), request_.offset, -failed));
      }
    }
    return {};
  }

  [[nodiscard]] TransferTiming timing() const override { return timing_; }
  [[nodiscard]] std::string_view mechanism() const override { return "io_uring"; }

 private:
  // Takes the completions that have arrived; evaluates the batch if it is complete.
  Status advance() {
    collect();
    if (outstanding_ > 0) return {};
    if (Status judged = judge_batch(); !judged.ok()) return finish(std::move(judged));
    if (moved_ == request_.bytes && synced_) return finish({});
    if (Status submitted = submit_batch(); !submitted.ok()) return finish(std::move(submitted));
    return {};
  }

  Status finish(Status status) {
    busy_ = false;
    timing_.end_ns = monotonic_ns();
    if (request_.durability == Durability::none) timing_.end_ns = timing_.moved_ns;
    return status;
  }

  Status submit_batch() {
    entry_count_ = 0;
    std::int64_t planned = moved_;
    while (planned < request_.bytes && entry_count_ < batch_entries - 1) {
      const std::int64_t bytes = std::min(request_.bytes - planned, bytes_per_call_);
      prepare_piece(planned, bytes);
      planned += bytes;
    }
    if (planned == request_.bytes && !synced_) prepare_sync();
    last_->flags &= static_cast<unsigned char>(~IOSQE_IO_LINK);

    const int taken = io_uring_submit(ring_.get());
    if (taken == static_cast<int>(entry_count_)) {
      outstanding_ = entry_count_;
      return {};
    }
    // If the kernel took only a part of a chain, the rest would run as a separate chain, out of
    // order. The rest remains in this ring, which is closed.
    outstanding_ = taken > 0 ? static_cast<unsigned>(taken) : 0;
    wait_for_outstanding();
    ring_.close();
    return system_failure("submission to io_uring", file_.path(), request_.offset + moved_,
                          taken < 0 ? -taken : EAGAIN);
  }

  void prepare_piece(std::int64_t moved, std::int64_t bytes) {
    io_uring_sqe* entry = next_entry({.is_sync = false, .bytes = bytes});
    std::byte* place = request_.buffer + moved;
    const auto size = static_cast<unsigned>(bytes);
    const auto offset = static_cast<std::uint64_t>(request_.offset + moved);
    if (request_.direction == Direction::read) {
      io_uring_prep_read(entry, file_.descriptor(), place, size, offset);
    } else {
      io_uring_prep_write(entry, file_.descriptor(), place, size, offset);
    }
    label(entry);
  }

  void prepare_sync() {
    io_uring_sqe* entry = next_entry({.is_sync = true});
    const unsigned flags = request_.durability == Durability::data ? IORING_FSYNC_DATASYNC : 0;
    io_uring_prep_fsync(entry, file_.descriptor(), flags);
    label(entry);
  }

  // Returns a free entry of the ring. There is one for each entry of a batch, because every batch
  // is submitted as a whole.
  io_uring_sqe* next_entry(const Entry& entry) {
    entries_[entry_count_] = entry;
    last_ = io_uring_get_sqe(ring_.get());
    return last_;
  }

  void label(io_uring_sqe* entry) {
    io_uring_sqe_set_data(entry, &entries_[entry_count_++]);
    io_uring_sqe_set_flags(entry, IOSQE_ASYNC | IOSQE_IO_LINK);
  }

  void collect() {
    std::array<io_uring_cqe*, 2 * batch_entries> answers{};
    const unsigned count = io_uring_peek_batch_cqe(ring_.get(), answers.data(), answers.size());
    for (unsigned i = 0; i < count; ++i) {
      auto* entry = static_cast<Entry*>(io_uring_cqe_get_data(answers[i]));
      if (entry == nullptr) continue;  // the completion of a cancellation
      entry->answered = true;
      entry->answer = answers[i]->res;
      if (!entry->is_sync) timing_.moved_ns = monotonic_ns();
      --outstanding_;
    }
    io_uring_cq_advance(ring_.get(), count);
  }

  // Counts the bytes that the batch moved. Entries after the first incomplete entry were cancelled
  // because of it.
  Status judge_batch() {
    for (unsigned i = 0; i < entry_count_; ++i) {
      const Entry& entry = entries_[i];
      if (entry.answer == -EINTR || entry.answer == -EAGAIN) return {};
      if (entry.is_sync) {
        if (entry.answer < 0) return sync_failure(file_, request_.durability, -entry.answer);
        synced_ = true;
        return {};
      }
      if (entry.answer < 0) return move_failure(file_, request_, moved_, -entry.answer);
      if (entry.answer == 0) return moved_nothing(file_, request_, moved_);
      moved_ += entry.answer;
      if (entry.answer < entry.bytes) return {};
    }
    return {};
  }

  void cancel_outstanding() {
    for (unsigned i = 0; i < entry_count_; ++i) {
      if (entries_[i].answered) continue;
      io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
      io_uring_prep_cancel(entry, &entries_[i], 0);
      io_uring_sqe_set_data(entry, nullptr);
    }
    // If a cancellation is rejected, the only effect is a longer wait for its entry.
    static_cast<void>(io_uring_submit(ring_.get()));
  }

  void wait_for_outstanding() {
    while (outstanding_ > 0) {
      io_uring_cqe* unused = nullptr;
      if (io_uring_wait_cqe(ring_.get(), &unused) != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      collect();
    }
  }

  const File& file_;
  std::int64_t bytes_per_call_;
  TransferRing ring_;
  bool busy_ = false;
  TransferRequest request_;
  TransferTiming timing_;
  std::int64_t moved_ = 0;  // bytes known to be moved
  bool synced_ = false;     // durable as requested

  std::array<Entry, batch_entries> entries_;  // the batch; the ring's completions point here
  unsigned entry_count_ = 0;
  unsigned outstanding_ = 0;
  io_uring_sqe* last_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file,
                                                      std::int64_t bytes_per_call) {
  auto transfer = std::make_unique<UringTransfer>(file, bytes_per_call);
  if (const int refused = transfer->open_ring(); refused != 0) {
    Error error = system_failure("set-up of io_uring", file.path(), -1, refused);
    error.code = ErrorCode::unsupported;
    return error;
  }
  return std::unique_ptr<Transfer>(std::move(transfer));
}

Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file) {
  return make_uring_transfer(file, largest_call);
}

}  // namespace weir::storage
