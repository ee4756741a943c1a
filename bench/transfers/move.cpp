#include "transfers/move.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/checked.hpp"
#include "common/clock.hpp"

namespace weir::storage {
namespace {

const char* name_of(Direction direction) { return direction == Direction::read ? "read" : "write"; }

bool is_direct(const File& file) {
  const int flags = ::fcntl(file.descriptor(), F_GETFL);
  return flags >= 0 && (flags & O_DIRECT) != 0;
}

bool lies_at_end(const File& file, std::int64_t offset) {
  struct stat information {};
  return ::fstat(file.descriptor(), &information) == 0 && offset >= information.st_size;
}

Status move_bytes(const File& file, const TransferRequest& request, std::int64_t bytes_per_call,
                  const std::stop_token& stop) {
  std::int64_t moved = 0;
  while (moved < request.bytes) {
    if (stop.stop_requested()) {
      Error error = move_failure(file, request, moved, ECANCELED);
      error.code = ErrorCode::interrupted;
      return error;
    }
    const auto count = static_cast<std::size_t>(std::min(request.bytes - moved, bytes_per_call));
    std::byte* place = request.buffer + moved;
    const ssize_t now = request.direction == Direction::read
                            ? ::pread(file.descriptor(), place, count, request.offset + moved)
                            : ::pwrite(file.descriptor(), place, count, request.offset + moved);
    if (now < 0) {
      const int reason = errno;
      if (reason == EINTR) continue;
      return move_failure(file, request, moved, reason);
    }
    if (now == 0) return moved_nothing(file, request, moved);
    moved += now;
  }
  return {};
}

Status sync(const File& file, Durability durability) {
  if (durability == Durability::none) return {};
  return durability == Durability::data ? file.sync_data() : file.sync();
}

}  // namespace

Status check_request(const File& file, const TransferRequest& request) {
  const auto refuse = [&](const std::string& reason) {
    Error error = invalid_argument(
        fmt::format("cannot {} {} bytes: {}", name_of(request.direction), request.bytes, reason));
    error.operation = name_of(request.direction);
    error.file = file.path();
    error.offset = request.offset;
    return error;
  };
  if (request.buffer == nullptr) return refuse("there is no buffer");
  if (request.bytes <= 0) return refuse("the size must be positive");
  if (request.offset < 0) return refuse(fmt::format("the offset {} is negative", request.offset));
  if (!checked_add(request.offset, request.bytes)) {
    return refuse("the end lies beyond the largest file offset");
  }
  if (request.direction == Direction::read && request.durability != Durability::none) {
    return refuse("only a write can be made durable");
  }
  return {};
}

Error still_busy(const File& file) {
  return invalid_argument("a transfer was started before the last one was waited for", file.path());
}

Error deadline_passed(const File& file, const TransferRequest& request) {
  Error error;
  error.code = ErrorCode::deadline;
  error.operation = name_of(request.direction);
  error.file = file.path();
  error.offset = request.offset;
  error.message = fmt::format("{} of {} bytes did not finish before its deadline", error.operation,
                              request.bytes);
  return error;
}

Error move_failure(const File& file, const TransferRequest& request, std::int64_t moved,
                   int system_error) {
  const std::int64_t offset = request.offset + moved;
  if (system_error == EINVAL && is_direct(file)) {
    // After a partial last block, a direct read continues at an unaligned offset. The system
    // rejects this instead of reporting the end of the file.
    if (request.direction == Direction::read && moved > 0 && lies_at_end(file, offset)) {
      return moved_nothing(file, request, moved);
    }
    Error error = system_failure(name_of(request.direction), file.path(), offset, system_error);
    error.message +=
        "; O_DIRECT needs buffer, size and offset aligned to the device's blocks, often 4096 bytes";
    return error;
  }
  return system_failure(name_of(request.direction), file.path(), offset, system_error);
}

Error moved_nothing(const File& file, const TransferRequest& request, std::int64_t moved) {
  Error error;
  error.code = ErrorCode::short_transfer;
  error.operation = name_of(request.direction);
  error.file = file.path();
  error.offset = request.offset + moved;
  error.message =
      request.direction == Direction::read
          ? fmt::format("short read: the file ends after {} of {} bytes", moved, request.bytes)
          : fmt::format("short write: no progress after {} of {} bytes", moved, request.bytes);
  return error;
}

Error sync_failure(const File& file, Durability durability, int system_error) {
  return system_failure(durability == Durability::data ? "fdatasync" : "fsync", file.path(), -1,
                        system_error);
}

Movement move_and_sync(const File& file, const TransferRequest& request,
                       std::int64_t bytes_per_call, const std::stop_token& stop) {
  Movement movement;
  movement.timing.start_ns = monotonic_ns();
  movement.status = move_bytes(file, request, bytes_per_call, stop);
  movement.timing.moved_ns = monotonic_ns();
  if (movement.status.ok()) movement.status = sync(file, request.durability);
  movement.timing.end_ns =
      request.durability == Durability::none ? movement.timing.moved_ns : monotonic_ns();
  return movement;
}

}  // namespace weir::storage
