#include "measurement/ring.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "common/checked.hpp"
#include "common/page.hpp"

namespace weir::bench {
namespace {
constexpr std::int64_t cached_bytes = std::int64_t{1} << 20;
}  // namespace

std::int64_t Ring::buffers_for(std::int64_t transfer_bytes, std::int64_t operations,
                               std::int64_t in_flight) {
  const std::int64_t useful = std::min(operations, cached_bytes / transfer_bytes);
  return std::max({std::int64_t{1}, useful, in_flight});
}

std::int64_t Ring::memory_bytes(std::int64_t buffers, std::int64_t bytes_each) {
  return buffers * checked_round_up(bytes_each, page_bytes).value_or(bytes_each);
}

Result<Ring> Ring::create(std::int64_t buffers, std::int64_t bytes_each) {
  Ring ring;
  const auto stride = checked_round_up(bytes_each, page_bytes);
  const auto total = stride ? checked_multiply(*stride, buffers) : std::nullopt;
  void* memory = MAP_FAILED;
  if (total) {
    memory = mmap(nullptr, static_cast<std::size_t>(*total), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory == MAP_FAILED) {
    return Error(ErrorCode::insufficient,
                 fmt::format("cannot allocate {} buffers of {} bytes", buffers, bytes_each));
  }
  std::memset(memory, 1, static_cast<std::size_t>(*total));
  ring.memory_ = {static_cast<std::byte*>(memory), Unmap{static_cast<std::size_t>(*total)}};
  ring.bytes_each_ = *stride;
  ring.buffers_ = buffers;
  return ring;
}

void Unmap::operator()(std::byte* memory) const { munmap(memory, bytes); }

}  // namespace weir::bench
