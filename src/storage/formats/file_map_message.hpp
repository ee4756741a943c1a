// A file's map as bytes, for ranks to tell each other what one of them laid out or opened.
#pragma once

#include <string>
#include <string_view>

#include "common/status.hpp"
#include "storage/formats/array_change.hpp"
#include "storage/formats/format.hpp"

namespace weir::storage {

[[nodiscard]] std::string message_of(const FileMap& map);
[[nodiscard]] std::string message_of(const std::vector<ArrayChange>& changes);
// Parsing fails on anything that message_of() does not give.
[[nodiscard]] Result<FileMap> parse_file_map(std::string_view message);
[[nodiscard]] Result<std::vector<ArrayChange>> parse_array_changes(std::string_view message);

}  // namespace weir::storage
