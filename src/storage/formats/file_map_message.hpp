// A file's map as bytes, for ranks to tell each other what one of them laid out or opened.
#pragma once

#include <string>
#include <string_view>

#include "common/status.hpp"
#include "storage/formats/format.hpp"

namespace weir::storage {

[[nodiscard]] std::string message_of(const FileMap& map);
// Fails on anything that message_of() does not give.
[[nodiscard]] Result<FileMap> parse_file_map(std::string_view message);

}  // namespace weir::storage
