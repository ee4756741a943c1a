// Says for which files calls are counted: all except those in the kernel's virtual file systems.
#pragma once

#include <string_view>

namespace weir::calls {

[[nodiscard]] constexpr bool is_counted_path(std::string_view absolute) {
  return absolute.starts_with('/') && !absolute.starts_with("/proc/") &&
         !absolute.starts_with("/sys/") && !absolute.starts_with("/dev/");
}

}  // namespace weir::calls
