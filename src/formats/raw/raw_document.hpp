// The document PATH.json of a raw file of several arrays. It is version 3 of the document of a raw
// array (raw_array.hpp): each element of "arrays" has the members that describe an array there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "formats/raw/raw_file.hpp"

namespace weir::storage {

inline constexpr std::size_t most_raw_file_document_bytes = std::size_t{1} << 26;

// Returns the document. Fails if it could not be read again: on text that is not UTF-8, and if it
// is longer than most_raw_file_document_bytes.
[[nodiscard]] Result<std::string> raw_file_json(const RawFile& file);

// Returns whether the text is such a document. False for the document of a raw array, and for any
// other text.
[[nodiscard]] bool is_raw_file_json(std::string_view text);
// Parses the document. `source` names it in errors. Fails on any text for which RawFile::check()
// fails. Memory and time are proportional to the text.
[[nodiscard]] Result<RawFile> parse_raw_file(std::string_view text, const std::string& source);

}  // namespace weir::storage
