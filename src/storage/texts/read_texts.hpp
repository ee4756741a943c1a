// Reads sections of arrays of texts of any length, in one process.
#pragma once

#include "array/section.hpp"
#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/texts/texts.hpp"

namespace weir::storage {

// The texts of a section, in row-major order. Takes 40 bytes for each element besides twice the
// texts, and one chunk. Fails when a file cannot be read, ends early, or refers to what is no text.
// Safe for threads with the same cache.
[[nodiscard]] Result<Texts> read_texts(const StoredTexts& texts, const array::Section& section,
                                       DataFileCache& files);

}  // namespace weir::storage
