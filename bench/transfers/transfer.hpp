// A transfer of one contiguous piece between memory and a file, in the foreground or concurrently
// with computation.
//
// Protocol: a Transfer is bound to one open file and executes one request at a time.
// clang-format off
//   start(request)   begins the request. The transfer owns the buffer until it has finished.
//   poll()           makes progress and returns whether the request has finished; never blocks.
//   wait(deadline)   blocks until the request has finished, or fails with ErrorCode::deadline.
//   timing()         returns the times of the last finished request.
// clang-format on
// The transfer is idle again after poll() returned true, after wait() succeeded, or after either of
// them failed with an error other than `deadline`. poll() and wait() of an idle transfer succeed at
// once. start() fails only if it began nothing: the request is invalid, or poll() or wait() has not
// yet reported the last request. poll() or wait() reports the result of a request once.
//
// An error names the operation, file, offset and errno. The offset is where the bytes stopped, or
// -1 for a sync. A read that reaches the end of the file fails with ErrorCode::short_transfer. A
// write continues after a partial write and fails with the error that stopped it.
//
// The destructor of a transfer in flight begins no further piece and waits for the current system
// call, because the kernel owns the buffer until the call returns. If storage hangs, the destructor
// hangs, too.
//
// A program whose writes may exceed its file size limit must ignore SIGXFSZ to see EFBIG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/direction.hpp"
#include "common/status.hpp"
#include "system/durability.hpp"
#include "system/file.hpp"

namespace weir::storage {

struct TransferRequest {
  Direction direction = Direction::read;
  std::byte* buffer = nullptr;
  std::int64_t bytes = 0;   // > 0; any 64-bit size, split below the system's limit per call
  std::int64_t offset = 0;  // bytes from the start of the file
  Durability durability = Durability::none;  // writes only
};

// Times of a request on this process's monotonic clock (common/clock.hpp), beginning with the call
// of start(). The thread transfer takes the times of the events themselves. The io_uring transfer
// takes the times at which poll() or wait() saw the kernel's completions, so that the end appears
// late if the caller computes for a long time without polling.
struct TransferTiming {
  std::int64_t start_ns = 0;
  std::int64_t moved_ns = 0;  // all bytes moved; the durable sync, if any, begins
  std::int64_t end_ns = 0;    // durable as requested
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
  // Returns the mechanism that moves the bytes, for provenance: "posix", "io_uring", "thread" or
  // "mpi-io".
  [[nodiscard]] virtual std::string_view mechanism() const = 0;
};

// The file must outlive the transfer that the following functions return.
//
// Returns a transfer that moves everything inside start(), so that poll() and wait() return at
// once.
[[nodiscard]] std::unique_ptr<Transfer> make_posix_transfer(const File& file);
// Returns a transfer that io_uring executes in the background. Fails with ErrorCode::unsupported if
// the kernel does not provide io_uring (it is absent, forbidden, or older than Linux 5.11) or Weir
// was built without liburing. A request of more than 31 GiB needs poll() or wait() to continue.
[[nodiscard]] Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file);
// Returns a transfer that one thread, which lives as long as the transfer, executes in the
// background.
[[nodiscard]] std::unique_ptr<Transfer> make_thread_transfer(const File& file);
// Returns an io_uring transfer if the kernel provides io_uring, otherwise a thread transfer.
[[nodiscard]] std::unique_ptr<Transfer> make_background_transfer(const File& file);

}  // namespace weir::storage
