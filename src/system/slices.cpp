#include "system/slices.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/direction.hpp"

namespace weir::storage {
namespace {

// Maximum number of slices that Linux accepts in one call (IOV_MAX).
constexpr std::size_t most_slices = 1024;
// Linux moves at most 0x7ffff000 bytes per call; 1 GiB is less and keeps O_DIRECT's alignment.
constexpr std::int64_t most_bytes_of_a_call = std::int64_t{1} << 30;

// Splits the slices into parts that one system call can move. The next part begins at byte
// `skipped_` of slice `at_`.
class Batches {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): vectors_, see there
  explicit Batches(std::span<const Slice> slices) : slices_(slices) {}

  // Fills vectors_ with the next part. Returns false when all bytes were passed.
  bool fill() {
    count_ = 0;
    std::int64_t skip = skipped_;
    std::int64_t room = most_bytes_of_a_call;
    for (std::size_t at = at_; at < slices_.size() && count_ < most_slices && room > 0; ++at) {
      const std::int64_t bytes = std::min(slices_[at].bytes - skip, room);
      vectors_.at(count_++) = {slices_[at].data + skip, static_cast<std::size_t>(bytes)};
      room -= bytes;
      skip = 0;
    }
    return count_ > 0;
  }
  void pass(std::int64_t bytes) {
    while (bytes > 0) {
      const std::int64_t left = slices_[at_].bytes - skipped_;
      if (bytes < left) {
        skipped_ += bytes;
        return;
      }
      bytes -= left;
      skipped_ = 0;
      ++at_;
    }
  }
  [[nodiscard]] const iovec* vectors() const { return vectors_.data(); }
  [[nodiscard]] int count() const { return static_cast<int>(count_); }

 private:
  std::span<const Slice> slices_;
  std::size_t at_ = 0;
  std::int64_t skipped_ = 0;
  std::size_t count_ = 0;
  // The array is uninitialized until fill(): clearing 16 KiB would cost more than a short call.
  std::array<iovec, most_slices> vectors_;
};

Error failed(Direction direction, const File& file, std::int64_t offset, int reason) {
  return system_failure(direction == Direction::read ? "read" : "write", file.path(), offset,
                        reason);
}

}  // namespace

std::int64_t bytes_of(std::span<const Slice> slices) {
  std::int64_t bytes = 0;
  for (const Slice& slice : slices) bytes += slice.bytes;
  return bytes;
}

Status write_slices(const File& file, std::span<const Slice> slices, std::int64_t offset,
                    std::int64_t& calls) {
  std::int64_t bytes = 0;
  return write_slices(file, slices, offset, bytes, calls);
}

Status write_slices(const File& file, std::span<const Slice> slices, std::int64_t offset,
                    std::int64_t& bytes, std::int64_t& calls) {
  bytes = 0;
  for (Batches batches(slices); batches.fill();) {
    // Moves one slice by the simpler call, which tools that trace I/O or inject faults support
    // best.
    const ssize_t now =
        batches.count() == 1
            ? ::pwrite(file.descriptor(), batches.vectors()->iov_base, batches.vectors()->iov_len,
                       offset)
            : ::pwritev(file.descriptor(), batches.vectors(), batches.count(), offset);
    ++calls;
    if (now < 0) {
      const int reason = errno;
      if (reason == EINTR) continue;
      return failed(Direction::write, file, offset, reason);
    }
    if (now == 0) return failed(Direction::write, file, offset, EIO);
    batches.pass(now);
    offset += now;
    bytes += now;
  }
  return {};
}

Status read_slices(const File& file, std::span<const Slice> slices, std::int64_t offset,
                   std::int64_t& bytes, std::int64_t& calls) {
  bytes = 0;
  for (Batches batches(slices); batches.fill();) {
    const ssize_t now =
        batches.count() == 1
            ? ::pread(file.descriptor(), batches.vectors()->iov_base, batches.vectors()->iov_len,
                      offset)
            : ::preadv(file.descriptor(), batches.vectors(), batches.count(), offset);
    ++calls;
    if (now < 0) {
      const int reason = errno;
      if (reason == EINTR) continue;
      return failed(Direction::read, file, offset, reason);
    }
    if (now == 0) return {};
    batches.pass(now);
    offset += now;
    bytes += now;
  }
  return {};
}

std::int64_t write_once(const File& file, const std::byte* data, std::int64_t bytes,
                        std::int64_t offset) {
  const ssize_t moved = ::pwrite(file.descriptor(), data, static_cast<std::size_t>(bytes), offset);
  return moved < 0 ? -errno : moved;
}

std::int64_t read_once(const File& file, std::byte* data, std::int64_t bytes, std::int64_t offset) {
  const ssize_t moved = ::pread(file.descriptor(), data, static_cast<std::size_t>(bytes), offset);
  return moved < 0 ? -errno : moved;
}

Status SliceMover::write(const File& file, std::span<const Slice> slices, std::int64_t offset,
                         std::int64_t& bytes) const {
  std::int64_t calls = 0;
  return write_slices(file, slices, offset, bytes, calls);
}

Status SliceMover::read(const File& file, std::span<const Slice> slices, std::int64_t offset,
                        std::int64_t& bytes) const {
  std::int64_t calls = 0;
  return read_slices(file, slices, offset, bytes, calls);
}

}  // namespace weir::storage
