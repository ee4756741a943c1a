// `weir-bench metadata` measures the cost of creating, looking up and removing files.
#pragma once

#include <string>
#include <vector>

namespace weir::bench {

int run_metadata(const std::vector<std::string>& arguments);

}  // namespace weir::bench
