// probe.json besides its samples: where it was measured, and with what.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weir::bench::probe {

// The `Target` of python/weir/results/probe.py for a directory. Reads /proc, /sys and the file
// system's attributes.
[[nodiscard]] nlohmann::ordered_json describe_target(const std::string& directory);

// Processor, caches and memory of this host. Targets' devices are told by describe_target().
[[nodiscard]] nlohmann::ordered_json describe_host(const std::string& directory);

}  // namespace weir::bench::probe
