// A ring of io_uring: its set-up, the submission of entries, their completions, and the files and
// memory that are registered with it.
//
// Protocol: the user takes an entry by next_entry(), prepares it by liburing's functions, and gives
// it a pointer (io_uring_sqe_set_data), by which take() reports its completion. enter() passes all
// prepared entries to the kernel. The user has at most as many entries in flight as the ring has
// room for, so that there is always an entry to take and room for every completion.
#pragma once

#include <liburing.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::storage {

inline constexpr unsigned most_uring_entries = 4096;

struct UringCompletion {
  void* pointer = nullptr;  // of the entry
  int result = 0;           // as of the system call, or -errno
};

class Uring {
 public:
  Uring() = default;
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;
  ~Uring();  // the user has waited for all entries in flight

  // Sets the ring up with room for `entries` entries. Returns 0 or errno; a kernel before Linux
  // 5.11, whose rings cannot wait with a timeout, counts as one without io_uring.
  int open(unsigned entries);

  [[nodiscard]] io_uring_sqe* next_entry() { return io_uring_get_sqe(&ring_); }
  // Returns the number of prepared entries that the kernel has not taken yet.
  [[nodiscard]] unsigned unsubmitted() const { return io_uring_sq_ready(&ring_); }
  // Drops the prepared entries that were not yet passed to the kernel. Returns their number.
  unsigned drop_unsubmitted();
  // Passes the prepared entries to the kernel. Does not block if `until_ns` is 0; otherwise waits
  // until there is a completion or, on monotonic_ns(), until then. Returns 0, or the errno with
  // which the kernel permanently refuses; interruptions are no failures.
  int enter(std::int64_t until_ns);
  // Returns the next completion that has arrived, or nothing.
  std::optional<UringCompletion> take() {
    io_uring_cqe* answer = nullptr;
    if (io_uring_peek_cqe(&ring_, &answer) != 0) return std::nullopt;
    const UringCompletion completion{io_uring_cqe_get_data(answer), answer->res};
    io_uring_cqe_seen(&ring_, answer);
    return completion;
  }

  // Registers a file. Returns its number in the ring, or -1 if it is not registered.
  int add_file(int descriptor);
  void remove_file(int number);

  // Registers memory by register_memory(), which is delayed until the first use because the kernel
  // keeps the pages of registered memory.
  void expect_memory(std::span<const std::span<std::byte>> areas);
  void register_memory();
  // Returns the number of the registered area that contains the memory, or -1 if there is none.
  [[nodiscard]] int area_of(const iovec& memory) const;

 private:
  static constexpr unsigned most_registered_files = 256;

  io_uring ring_{};
  bool open_ = false;
  bool tried_files_ = false;
  bool registers_files_ = false;
  std::array<bool, most_registered_files> used_{};
  std::vector<std::span<std::byte>> expected_;  // not yet registered
  std::vector<iovec> areas_;
};

}  // namespace weir::storage
