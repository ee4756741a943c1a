// The document PATH.json of a raw file (docs/raw-format.md). Documents have the earliest of the
// versions 3 to 5 that can express them. Versions 1 and 2 describe one array; they are only read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "formats/raw/raw_file.hpp"

namespace weir::storage {

// The limit keeps the parser from reading gigabytes.
inline constexpr std::size_t most_raw_document_bytes = std::size_t{1} << 26;

inline constexpr const char* sidecar_suffix = ".json";
[[nodiscard]] std::string sidecar_path(const std::string& path);
// Returns the name of an array that is alone in the file PATH and was given no other name: the last
// part of the path, or "array" if documents cannot have that as a name.
[[nodiscard]] std::string name_of_only_array(const std::string& path);

// Returns the document. Fails if it could not be read again: on text that is not UTF-8, and if it
// is longer than most_raw_document_bytes.
[[nodiscard]] Result<std::string> raw_file_json(const RawFile& file);

// Parses the document. `source`, the path of the document, names it in errors. Fails on any text
// for which RawFile::check() fails. Memory and time are proportional to the text.
[[nodiscard]] Result<RawFile> parse_raw_file(std::string_view text, const std::string& source);

}  // namespace weir::storage
