// The stagers of a service that the user has started, by the file or folder that names them.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"

namespace weir::bench {

// Returns how many stagers a rendezvous file or folder names, if all of them are at addresses of
// this node, and 0 if any of them is on another one. Fails if it cannot be read.
[[nodiscard]] Result<std::int64_t> stagers_on_this_node(const std::string& rendezvous);

}  // namespace weir::bench
