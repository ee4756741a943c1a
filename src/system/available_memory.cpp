#include "system/available_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace weir::storage {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

// Returns the number in a file, or `unlimited` if the file contains "max" or cannot be read.
std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::int64_t value = 0;
  if (!std::getline(file, text)) return unlimited;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? value : unlimited;
}

// Returns the bytes of file pages that are included in a cgroup's usage. `prefix` is "total_" in
// version 1, whose usage includes descendant groups. Shared memory is not included in the result.
std::int64_t file_pages(const std::string& path, const std::string& prefix) {
  std::ifstream file(path);
  std::string line;
  std::int64_t sum = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::int64_t bytes = 0;
    words >> name >> bytes;
    if (name == prefix + "inactive_file" || name == prefix + "active_file") sum += bytes;
  }
  return sum;
}

std::int64_t cgroup_allowance() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  std::int64_t allowance = unlimited;
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    std::int64_t limit = unlimited;
    std::int64_t used = unlimited;
    std::int64_t reclaimable = 0;
    if (controllers.empty()) {
      const std::string folder = "/sys/fs/cgroup" + path;
      limit = number_in(folder + "/memory.max");
      used = number_in(folder + "/memory.current");
      reclaimable = file_pages(folder + "/memory.stat", "");
    } else if (controllers.find("memory") != std::string::npos) {
      const std::string folder = "/sys/fs/cgroup/memory" + path;
      limit = number_in(folder + "/memory.limit_in_bytes");
      used = number_in(folder + "/memory.usage_in_bytes");
      reclaimable = file_pages(folder + "/memory.stat", "total_");
    }
    if (limit == unlimited || used == unlimited) continue;
    const std::int64_t in_use = std::max<std::int64_t>(used - reclaimable, 0);
    allowance = std::min(allowance, std::max<std::int64_t>(limit - in_use, 0));
  }
  return allowance;
}

}  // namespace

std::int64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  std::int64_t available = unlimited;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kibibytes = 0;
    if (words >> name >> kibibytes && name == "MemAvailable:") available = kibibytes * 1024;
  }
  return std::min(available, cgroup_allowance());
}

}  // namespace weir::storage
