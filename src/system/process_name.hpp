// The names of this process and its host for people who read them on another machine.
#pragma once

#include <string>

namespace weir::storage {

// Returns a text such as "process 4711 on node12".
[[nodiscard]] std::string process_name();
// Returns the host's name, or "?".
[[nodiscard]] std::string host_name();

}  // namespace weir::storage
