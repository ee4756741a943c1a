// What the engines share: checking a request, moving its bytes by system calls, and wording the
// errors. Inside src/storage/engines only.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "common/status.hpp"
#include "storage/engines/file.hpp"
#include "storage/engines/transfer.hpp"

namespace weir::storage {

// Linux moves at most 0x7ffff000 bytes per call; 1 GiB lies below it and keeps O_DIRECT's
// alignment.
inline constexpr std::int64_t largest_call = std::int64_t{1} << 30;

// One request's way through an engine.
struct Movement {
  Status status;
  TransferTiming timing;
};

// Refuses what no engine can move: no buffer, no bytes, a negative offset, an end beyond 2^63 - 1,
// a read that shall be durable.
Status check_request(const File& file, const TransferRequest& request);

// For starting a transfer whose last request has not been waited for.
Error still_busy(const File& file);
// For a wait that ended before the transfer did.
Error deadline_passed(const File& file, const TransferRequest& request);

// After `moved` bytes of the request the system refused with `system_error`; moved tells the
// offset.
Error move_failure(const File& file, const TransferRequest& request, std::int64_t moved,
                   int system_error);
// After `moved` bytes a call moved none: a read met the end of the file.
Error moved_nothing(const File& file, const TransferRequest& request, std::int64_t moved);
Error sync_failure(const File& file, Durability durability, int system_error);

// Moves the request with pread or pwrite, at most `bytes_per_call` at a time, then makes it durable
// as asked; blocks. When `stop` is requested it ends between two calls with ErrorCode::interrupted.
Movement move_and_sync(const File& file, const TransferRequest& request,
                       std::int64_t bytes_per_call, const std::stop_token& stop);

// The factories of transfer.hpp with another size per call, for tests of splitting.
std::unique_ptr<Transfer> make_posix_transfer(const File& file, std::int64_t bytes_per_call);
Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file,
                                                      std::int64_t bytes_per_call);
std::unique_ptr<Transfer> make_thread_transfer(const File& file, std::int64_t bytes_per_call);

}  // namespace weir::storage
