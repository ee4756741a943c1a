// The part of probe.json besides its samples: where it was measured, and with what.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weir::bench::probe {

// Returns the `Target` of python/weir/results/probe.py for a directory. Reads /proc, /sys and the
// file system's attributes.
[[nodiscard]] nlohmann::ordered_json describe_target(const std::string& directory);

// Describes the processor, caches and memory of this host. describe_target() describes the targets'
// devices.
[[nodiscard]] nlohmann::ordered_json describe_host(const std::string& directory);

}  // namespace weir::bench::probe
