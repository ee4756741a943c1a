#include "workloads/madbench/configuration.hpp"

#include <fmt/format.h>

namespace weir::bench::madbench {

std::string Configuration::file_of(std::int64_t rank) const {
  if (variant.file_type == FileType::shared) {
    return fmt::format("{}/weir-{}-shared", directories.front(), slug);
  }
  const std::size_t target = static_cast<std::size_t>(rank) % directories.size();
  return fmt::format("{}/weir-{}-{}", directories[target], slug, rank);
}

}  // namespace weir::bench::madbench
