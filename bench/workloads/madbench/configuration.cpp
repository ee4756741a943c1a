#include "workloads/madbench/configuration.hpp"

#include <fmt/format.h>

namespace weir::bench::madbench {

std::string Configuration::file_of(std::int64_t rank) const {
  return variant.file_type == FileType::shared
             ? fmt::format("{}/weir-{}-shared", directory, slug)
             : fmt::format("{}/weir-{}-{}", directory, slug, rank);
}

}  // namespace weir::bench::madbench
