// The name of this process for people who read it on another machine.
#pragma once

#include <string>

namespace weir::storage {

// Returns a text such as "process 4711 on node12".
[[nodiscard]] std::string process_name();

}  // namespace weir::storage
