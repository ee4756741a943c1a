// A file's map as bytes, by which one rank sends the others what it laid out or opened.
#pragma once

#include <string>
#include <string_view>

#include "common/status.hpp"
#include "formats/format.hpp"
#include "stored/array_change.hpp"

namespace weir::storage {

[[nodiscard]] std::string message_of(const FileMap& map);
[[nodiscard]] std::string message_of(const std::vector<ArrayChange>& changes);
// Parses a message. Fails on bytes that message_of() does not produce.
[[nodiscard]] Result<FileMap> parse_file_map(std::string_view message);
[[nodiscard]] Result<std::vector<ArrayChange>> parse_array_changes(std::string_view message);

}  // namespace weir::storage
