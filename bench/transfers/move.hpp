// Functions that the engines share: they check a request, move its bytes by system calls, and make
// the errors. For src/engines only.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "common/status.hpp"
#include "system/file.hpp"
#include "transfers/transfer.hpp"

namespace weir::storage {

// Linux moves at most 0x7ffff000 bytes per call; 1 GiB lies below it and keeps O_DIRECT's
// alignment.
inline constexpr std::int64_t largest_call = std::int64_t{1} << 30;

// The result of a request.
struct Movement {
  Status status;
  TransferTiming timing;
};

// Fails on a request that no engine can execute: no buffer, no bytes, a negative offset, an end
// beyond 2^63 - 1, or a read with durability.
Status check_request(const File& file, const TransferRequest& request);

// Returns the error of starting a transfer before its last request was waited for.
Error still_busy(const File& file);
// Returns the error of a wait that ended before the transfer did.
Error deadline_passed(const File& file, const TransferRequest& request);

// Returns the error of a request that failed with `system_error` after `moved` bytes, from which
// the offset follows.
Error move_failure(const File& file, const TransferRequest& request, std::int64_t moved,
                   int system_error);
// Returns the error of a call that moved no bytes after `moved` bytes: a read reached the end of
// the file.
Error moved_nothing(const File& file, const TransferRequest& request, std::int64_t moved);
Error sync_failure(const File& file, Durability durability, int system_error);

// Moves the request by pread or pwrite with at most `bytes_per_call` bytes per call, then makes it
// durable as requested. Blocks. If `stop` is requested, ends between two calls with
// ErrorCode::interrupted.
Movement move_and_sync(const File& file, const TransferRequest& request,
                       std::int64_t bytes_per_call, const std::stop_token& stop);

// The factories of transfer.hpp with a different number of bytes per call, for tests of splitting.
std::unique_ptr<Transfer> make_posix_transfer(const File& file, std::int64_t bytes_per_call);
Result<std::unique_ptr<Transfer>> make_uring_transfer(const File& file,
                                                      std::int64_t bytes_per_call);
std::unique_ptr<Transfer> make_thread_transfer(const File& file, std::int64_t bytes_per_call);

}  // namespace weir::storage
