// Finds what this node's system tells of its place in the network.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "topology/node_place.hpp"

namespace weir::storage {

// The value of a variable of the environment, or nothing.
using Variable = std::function<std::optional<std::string>(const char*)>;

// Asks one source, or all of them if none is given; of the others no place is known, and neither of
// a description and InfiniBand, which are files that a user names. Files are those below `root`,
// which is "" but in tests: /proc/sys/lnet/routes, and /proc/cray_xt/cname or else /etc/cray/xname,
// in place of which Cray's host names serve. A file that is missing, longer than 1 MiB or damaged
// is a place that is not known. Runs no program and waits for nothing.
[[nodiscard]] topology::NodePlaces network_places(std::optional<topology::PlaceSource> only,
                                                  const Variable& variable, const std::string& host,
                                                  const std::string& root = "");

// Returns the LIDs of the ports of this node's InfiniBand adapters that have one, by
// /sys/class/infiniband below `root`. Looks at 256 ports.
[[nodiscard]] std::vector<std::int64_t> infiniband_lids(const std::string& root = "");

}  // namespace weir::storage
