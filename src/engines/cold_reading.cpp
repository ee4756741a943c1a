#include "engines/cold_reading.hpp"

#include <sys/uio.h>

#include <cerrno>

#include "array/data_sieving.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t bytes_until_next_try = 64 << 20;
// Only some of the short reads are tried, because a try that misses costs a second call.
constexpr std::int64_t short_reads_per_try = 16;

}  // namespace

bool waits_for_storage(const File& file, std::int64_t offset) {
  std::byte byte{};
  const iovec one{&byte, 1};
  return ::preadv2(file.descriptor(), &one, 1, offset, RWF_NOWAIT) < 0 && errno == EAGAIN;
}

Status ColdReading::read(const File& file, std::span<const Slice> slices, std::int64_t offset,
                         std::int64_t& bytes, std::int64_t& calls) {
  const std::int64_t wanted = bytes_of(slices);
  if (cold()) {
    cold_bytes_left_ -= wanted;
    return read_slices(file, slices, offset, bytes, calls);
  }
  const bool tried =
      possible_ && (wanted >= array::short_transfer_bytes || untried_++ % short_reads_per_try == 0);
  if (tried && slices.size() == 1) {
    const iovec all{slices.front().data, static_cast<std::size_t>(wanted)};
    const ssize_t now = ::preadv2(file.descriptor(), &all, 1, offset, RWF_NOWAIT);
    ++calls;
    bytes = now > 0 ? now : 0;
    if (now == wanted) return {};
    const int reason = now < 0 ? errno : 0;
    if (reason == EOPNOTSUPP || reason == EINVAL || reason == ENOSYS) {
      possible_ = false;
    } else if (reason != 0 && reason != EAGAIN && reason != EINTR) {
      return system_failure("read", file.path(), offset, reason);
    } else if (reason != EINTR) {
      cold_bytes_left_ = bytes_until_next_try;
    }
    const Slice rest{slices.front().data + bytes, wanted - bytes};
    std::int64_t more = 0;
    const Status status = read_slices(file, {&rest, 1}, offset + bytes, more, calls);
    bytes += more;
    return status;
  }
  return read_slices(file, slices, offset, bytes, calls);
}

}  // namespace weir::storage
