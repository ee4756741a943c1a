// Moving one contiguous piece between memory and a file, in the foreground or behind computation.
//
// Protocol: a Transfer is bound to one open file and carries one request at a time.
//   start(request)         begins it. The buffer belongs to the transfer until it has finished.
//   poll()                 makes progress and says whether it has finished; never blocks.
//   wait(deadline)         blocks until it has finished, or fails with ErrorCode::deadline.
//   timing()               of the last finished request.
// After poll() returned true, wait() succeeded, or either failed with anything but `deadline`, the
// transfer is idle again; poll() and wait() of an idle transfer succeed at once. start() fails only
// where nothing was begun: a request that cannot be, or the last one not yet reported by poll() or
// wait(). What became of the bytes is told by poll() or wait(), once.
//
// An error names operation, file, offset and errno; the offset is where the bytes stopped, and -1
// for a sync. A read that meets the end of the file fails with ErrorCode::short_transfer; a write
// goes on after a partial write and fails with the error that stopped it.
//
// A transfer that ends in flight begins no further piece and waits for the system call under way,
// for the buffer is the kernel's until it returns: on storage that hangs, so does its end.
//
// A program whose writes may exceed its file size limit must ignore SIGXFSZ to see EFBIG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/direction.hpp"
#include "common/status.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {

enum class Durability {
  none,  // the data may stay in the page cache
  data,  // fdatasync before the transfer counts as finished
  full,  // fsync before the transfer counts as finished
};

struct TransferRequest {
  Direction direction = Direction::read;
  std::byte* buffer = nullptr;
  std::int64_t bytes = 0;   // > 0; any 64-bit size, split below the system's limit per call
  std::int64_t offset = 0;  // bytes from the start of the file
  Durability durability = Durability::none;  // writes only
};

// On this process's monotonic clock (common/clock.hpp), from the call of start() on. The thread
// takes the times when things happen; of io_uring they are those at which poll() or wait() saw the
// kernel's answers, so a caller that computes for long without polling sees the end late.
struct TransferTiming {
  std::int64_t start_ns = 0;
  std::int64_t moved_ns = 0;  // all bytes moved; the durable sync, if any, begins
  std::int64_t end_ns = 0;    // durable as asked
};

class Transfer {
 public:
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;

  virtual Status start(const TransferRequest& request) = 0;
  virtual Result<bool> poll() = 0;
  virtual Status wait(std::int64_t deadline_ns) = 0;  // deadline on monotonic_ns()
  [[nodiscard]] virtual TransferTiming timing() const = 0;
  // What moves the bytes, for provenance: "posix", "io_uring", "thread", "mpi-io".
  [[nodiscard]] virtual std::string_view mechanism() const = 0;
};

// The file must outlive the transfer.
//
// Moves everything inside start(): poll() and wait() return at once.
[[nodiscard]] std::unique_ptr<Transfer> make_posix_transfer(const File& file);
// In the background by io_uring; ErrorCode::unsupported when the kernel does not offer it (none, or
// forbidden, or older than Linux 5.11) or Weir was built without liburing. Beyond 31 GiB the
// request needs poll() or wait() to go on.
[[nodiscard]] Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file);
// In the background by one thread that lives as long as the transfer.
[[nodiscard]] std::unique_ptr<Transfer> make_thread_transfer(const File& file);
// io_uring where the kernel offers it, otherwise the thread.
[[nodiscard]] std::unique_ptr<Transfer> make_background_transfer(const File& file);

}  // namespace weir::storage
