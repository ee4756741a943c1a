#include "measurement/device_traffic.hpp"

#include <sys/stat.h>

#include <set>

#include "measurement/page_cache.hpp"
#include "system/file.hpp"

namespace weir::bench {

std::optional<std::int64_t> moved_by_devices(const std::vector<std::string>& directories,
                                             Direction direction) {
  std::set<dev_t> seen;
  std::int64_t sum = 0;
  for (const std::string& directory : directories) {
    struct stat status {};
    if (stat(directory.c_str(), &status) != 0) return std::nullopt;
    if (!seen.insert(status.st_dev).second) continue;
    const auto opened = storage::File::open(directory, {});
    if (!opened) return std::nullopt;
    const auto counters = storage::device_counters(opened.value());
    if (!counters) return std::nullopt;
    sum +=
        direction == Direction::read ? counters.value().bytes_read : counters.value().bytes_written;
  }
  return sum;
}

}  // namespace weir::bench
