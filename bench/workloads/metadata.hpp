// `weir-bench metadata`: what creating, looking up and removing files costs.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

int run_metadata(const std::vector<std::string>& arguments);

}  // namespace weir::bench
