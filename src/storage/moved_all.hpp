// Whoever moves bytes between memory and files counts them, and a transfer that reports success has
// moved all: bytes that went nowhere are an error.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"

namespace weir::storage {

// `file`: the first one of the transfer; `offset` in it, or -1.
[[nodiscard]] Status moved_all(std::int64_t asked, std::int64_t moved, const std::string& file,
                               std::int64_t offset = -1);

}  // namespace weir::storage
