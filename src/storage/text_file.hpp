// Small documents, read whole.
#pragma once

#include <cstddef>
#include <string>

#include "common/status.hpp"

namespace weir::storage {

// The text of a file. Of a longer one `most_bytes` + 1 bytes are read, for whoever parses it to
// refuse.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes);

}  // namespace weir::storage
