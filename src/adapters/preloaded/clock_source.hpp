// Finds which hardware the system's clock reads.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace weir::preloaded {

// Returns whether the system's clock is the processor's time stamp counter. Makes direct system
// calls, since libc's functions may be counted.
[[nodiscard]] inline bool is_clock_of_processor() {
#ifdef __x86_64__
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

}  // namespace weir::preloaded
