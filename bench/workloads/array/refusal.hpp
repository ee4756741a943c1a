// The function with which the array workload rejects settings.
#pragma once

#include <string>

#include "common/status.hpp"

namespace weir::bench::array_io {

[[nodiscard]] inline Error refuse(const std::string& rule) {
  return invalid_argument("array: " + rule);
}

}  // namespace weir::bench::array_io
