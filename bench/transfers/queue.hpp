// A queue of many transfers in flight on one open file, as an application with asynchronous I/O
// uses it.
//
// Protocol: the caller owns `depth` slots. submit() takes a free slot; wait_one() returns one slot
// and its result, in the order in which the kernel finished. A buffer belongs to the queue from
// submit() until its slot is returned. The destructor waits for all transfers in flight, because
// the kernel owns their buffers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/status.hpp"
#include "system/file.hpp"
#include "transfers/transfer.hpp"

namespace weir::storage {

struct QueueEnd {
  int slot = -1;
  std::int64_t end_ns = 0;  // monotonic_ns() when the completion was seen
};

class TransferQueue {
 public:
  TransferQueue() = default;
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;
  virtual ~TransferQueue() = default;

  // Begins a transfer of at most 1 GiB without durability. The transfer may reach the kernel only
  // with the next wait_one().
  virtual Status submit(int slot, const TransferRequest& request) = 0;
  // Blocks until one transfer has finished. Fails with its error, or if no transfer is in flight. A
  // partial transfer is completed before its slot is returned.
  virtual Result<QueueEnd> wait_one() = 0;
  [[nodiscard]] virtual int in_flight() const = 0;
};

// Returns a queue that uses io_uring; `depth` is from 1 to 4096. Fails with ErrorCode::unsupported
// if the kernel does not provide io_uring or Weir was built without liburing. The file must outlive
// the queue.
[[nodiscard]] Result<std::unique_ptr<TransferQueue>> make_uring_queue(const File& file, int depth);

}  // namespace weir::storage
