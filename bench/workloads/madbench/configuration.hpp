// A configuration as one rank runs it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/madbench/layout.hpp"
#include "workloads/madbench/parameters.hpp"

namespace weir::bench::madbench {

struct Configuration {
  Variant variant;
  Layout layout;
  std::string label;
  std::string slug;
  // The test files lie in these. With O directories, the file of rank r is in number r mod O.
  std::vector<std::string> directories;
  std::uint64_t payload_seed = 0;

  // Returns the data file of a rank.
  [[nodiscard]] std::string file_of(std::int64_t rank) const;
};

}  // namespace weir::bench::madbench
