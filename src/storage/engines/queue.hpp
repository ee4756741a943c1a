// Many transfers in flight on one open file: what an application with asynchronous I/O keeps busy.
//
// Protocol: the caller owns `depth` slots. submit() takes a free slot; wait_one() hands one slot
// back with what came of it, in the order in which the kernel finished. A buffer belongs to the
// queue from submit() until its slot comes back. The queue's end waits for all that is in flight,
// because the kernel owns those buffers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/status.hpp"
#include "storage/engines/file.hpp"
#include "storage/engines/transfer.hpp"

namespace weir::storage {

struct QueueEnd {
  int slot = -1;
  std::int64_t end_ns = 0;  // when the answer was seen, on monotonic_ns()
};

class TransferQueue {
 public:
  TransferQueue() = default;
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;
  virtual ~TransferQueue() = default;

  // Begins a transfer without durability, of at most 1 GiB. It may reach the kernel only with the
  // next wait_one().
  virtual Status submit(int slot, const TransferRequest& request) = 0;
  // Blocks until one transfer has finished; fails with its error, or when none is in flight. A
  // partial transfer is completed before its slot comes back.
  virtual Result<QueueEnd> wait_one() = 0;
  [[nodiscard]] virtual int in_flight() const = 0;
};

// By io_uring, `depth` from 1 to 4096. ErrorCode::unsupported when the kernel does not offer it or
// Weir was built without liburing. The file must outlive the queue.
[[nodiscard]] Result<std::unique_ptr<TransferQueue>> make_uring_queue(const File& file, int depth);

}  // namespace weir::storage
