// A description is what probe.json says of the storage that was measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weir::bench::probe {

// Returns the `Target` of python/weir/results/probe.py for a directory. Reads /proc, /sys and the
// file system's attributes.
[[nodiscard]] nlohmann::ordered_json describe_target(const std::string& directory);

}  // namespace weir::bench::probe
