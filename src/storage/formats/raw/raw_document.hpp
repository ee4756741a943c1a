// The document PATH.json of a raw file of several arrays. It is version 3 of the document of a raw
// array (raw_array.hpp): what that says of one array, each element of "arrays" says.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "storage/formats/raw/raw_file.hpp"

namespace weir::storage {

inline constexpr std::size_t most_raw_file_document_bytes = std::size_t{1} << 26;

// Fails where no document that is read again can say it: on text that is not UTF-8, and on more of
// it than most_raw_file_document_bytes.
[[nodiscard]] Result<std::string> raw_file_json(const RawFile& file);

// Whether it is such a document, rather than one of a raw array alone. False where it is neither.
[[nodiscard]] bool is_raw_file_json(std::string_view text);
// `source` names the document in errors. Fails on what RawFile::check() fails on, whatever the text
// is; memory and time are in proportion to it.
[[nodiscard]] Result<RawFile> parse_raw_file(std::string_view text, const std::string& source);

}  // namespace weir::storage
