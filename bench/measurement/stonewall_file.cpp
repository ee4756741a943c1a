#include "measurement/stonewall_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "measurement/failure.hpp"

namespace weir::bench {

Result<std::optional<std::int64_t>> read_stonewall_file(const std::string& file) {
  if (!std::filesystem::exists(file)) return std::optional<std::int64_t>();
  std::ifstream stream(file);
  std::int64_t count = -1;
  if (stream >> count && count >= 1) return std::optional(count);
  return invalid_argument(fmt::format(
      "--stonewall-file {}: the file does not contain the number of transfers of each rank", file));
}

Status write_stonewall_file(const std::string& file, std::int64_t count) {
  return write_file_atomically(file, fmt::format("{}\n", count));
}

}  // namespace weir::bench
