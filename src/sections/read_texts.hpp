// Reads sections of arrays of variable-length texts, in one process.
#pragma once

#include "array/section.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/texts.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

// Returns the texts of a section in row-major order. Needs memory for twice the texts, 40 bytes for
// each element, and one chunk. Fails if a file cannot be read, ends early, or contains a reference
// that does not lead to a text. Several threads may use the same cache.
[[nodiscard]] Result<Texts> read_texts(const StoredTexts& texts, const array::Section& section,
                                       DataFileCache& files);

}  // namespace weir::storage
