// Texts in the global heap of an HDF5 file (the HDF5 File Format Specification, "Global Heap"). An
// element consists of the text's length, the address of a collection of objects, and the number of
// an object in the collection. These texts are read without HDF5's library.
#pragma once

#include "array/section.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/texts.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

// Each collection is read once, and collections may not overlap, so the time is proportional to the
// size of the file whatever the references are. Fails if the texts have more bytes in total than
// the file.
[[nodiscard]] Result<Texts> read_heap_texts(const StoredTexts& texts, const array::Section& section,
                                            DataFileCache& files);

}  // namespace weir::storage
