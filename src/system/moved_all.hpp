// A check that a transfer has moved all bytes. Every function that moves bytes between memory and
// files counts them; if a transfer reports success but has moved a different number, that is an
// error.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.hpp"

namespace weir::storage {

// Fails if `moved` differs from `asked`. `file` is the first file of the transfer, and `offset` the
// offset in it or -1.
[[nodiscard]] Status moved_all(std::int64_t asked, std::int64_t moved, const std::string& file,
                               std::int64_t offset = -1);

}  // namespace weir::storage
