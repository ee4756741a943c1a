// A function that reads a small document as a whole.
#pragma once

#include <cstddef>
#include <string>

#include "common/status.hpp"

namespace weir::storage {

// Returns the text of a file. If the file is longer than `most_bytes`, returns its first
// `most_bytes` + 1 bytes, which the parser must reject.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes);

}  // namespace weir::storage
