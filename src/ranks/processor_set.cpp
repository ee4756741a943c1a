#include "ranks/processor_set.hpp"

#include <sched.h>

#include <bit>
#include <cerrno>

namespace weir::ranks {

ProcessorSet ProcessorSet::filled_by(const Fill& fill) {
  ProcessorSet set;
  constexpr std::size_t limit_bytes = most_processors / 8;
  for (std::size_t bytes = sizeof(cpu_set_t); bytes <= limit_bytes; bytes *= 2) {
    set.mask_.assign(bytes, std::byte{});
    const int reason = fill(set.mask_.data(), bytes);
    if (reason == 0) return set;
    if (reason != EINVAL) break;
  }
  set.mask_.clear();
  return set;
}

ProcessorSet ProcessorSet::of_this_process() {
  return filled_by([](std::byte* mask, std::size_t bytes) {
    // A vector's memory is aligned for every type.
    auto* const set = reinterpret_cast<cpu_set_t*>(mask);
    return ::sched_getaffinity(0, bytes, set) == 0 ? 0 : errno;
  });
}

std::int64_t ProcessorSet::count() const {
  std::int64_t count = 0;
  for (const std::byte eight : mask_) count += std::popcount(std::to_integer<unsigned>(eight));
  return count;
}

}  // namespace weir::ranks
