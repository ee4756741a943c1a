// Says of which files calls are counted: of all but those that the kernel makes up.
#pragma once

#include <string_view>

namespace weir::calls {

[[nodiscard]] constexpr bool is_counted_path(std::string_view absolute) {
  return absolute.starts_with('/') && !absolute.starts_with("/proc/") &&
         !absolute.starts_with("/sys/") && !absolute.starts_with("/dev/");
}

}  // namespace weir::calls
