// Texts in the global heap of an HDF5 file (the HDF5 File Format Specification, "Global Heap"): an
// element is a text's length, the place of a collection of objects, and an object's number in it.
// HDF5's library is not needed to follow them.
#pragma once

#include "array/section.hpp"
#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/texts/texts.hpp"

namespace weir::storage {

// Each collection is read once, and none may overlap another one: so this takes time in proportion
// to what is in the file, whatever the references say. Texts that take more bytes together than the
// file has are refused.
[[nodiscard]] Result<Texts> read_heap_texts(const StoredTexts& texts, const array::Section& section,
                                            DataFileCache& files);

}  // namespace weir::storage
