// A file's map as bytes, by which one rank sends the others what it laid out or opened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "formats/format.hpp"
#include "stored/array_change.hpp"

namespace weir::storage {

// Says whether a message has the tables of places of chunks. If they are apart, it has only the
// lengths of their blocks: the parsed map's tables must not be used before their words have been
// set (array::WordBlocks::share_own()).
enum class Tables : std::uint8_t { included, apart };

[[nodiscard]] std::string message_of(const FileMap& map, Tables tables = Tables::included);
[[nodiscard]] std::string message_of(const std::vector<ArrayChange>& changes);
// Parses a message. Fails on bytes that message_of() does not produce.
[[nodiscard]] Result<FileMap> parse_file_map(std::string_view message,
                                             Tables tables = Tables::included);
[[nodiscard]] Result<std::vector<ArrayChange>> parse_array_changes(std::string_view message);

}  // namespace weir::storage
