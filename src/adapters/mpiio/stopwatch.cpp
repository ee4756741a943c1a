#include "adapters/mpiio/stopwatch.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <string_view>

namespace weir::mpiio {

bool is_clock_of_processor() {
#ifdef __x86_64__
  // Direct system calls: libc's functions may be counted.
  const long file = ::syscall(SYS_openat, AT_FDCWD,
                              "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                              O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return false;
  std::array<char, 32> name{};
  const long bytes = ::syscall(SYS_read, file, name.data(), name.size());
  ::syscall(SYS_close, file);
  return bytes > 0 && std::string_view(name.data(), static_cast<std::size_t>(bytes)) == "tsc\n";
#else
  return false;
#endif
}

void TickRate::begin() {
  begin_ns_ = preloaded::now_ns();
  begin_ticks_ = now_ticks();
}

void TickRate::end() {
  const std::int64_t ticks = now_ticks() - begin_ticks_;
  const std::int64_t ns = preloaded::now_ns() - begin_ns_;
  if (counts_ticks && ticks > 0) {
    ns_of_tick_ = static_cast<double>(ns) / static_cast<double>(ticks);
  }
}

std::int64_t TickRate::ns_of(std::int64_t ticks) const {
  return counts_ticks ? std::llround(static_cast<double>(ticks) * ns_of_tick_) : ticks;
}

}  // namespace weir::mpiio
