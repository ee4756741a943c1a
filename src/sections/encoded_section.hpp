// Reads and writes sections of arrays in encoded chunks, in one process. read_section() and
// write_section() of src/sections call these functions.
#pragma once

#include <cstddef>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/decoded_chunks.hpp"
#include "sections/encoded_writer.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

// Decodes every chunk that the section meets, one at a time. The section is not empty. A chunk of
// which the section contains only a part is taken from `kept`, or decoded and kept there; if `kept`
// is null, no chunk is kept.
Status read_encoded_section(const StoredArray& array, const array::Section& section,
                            std::byte* data, const array::Layout& memory, DataFileCache& files,
                            DecodedChunks* kept = nullptr);

// Writes a section. A chunk that the section covers only in part is decoded, changed and encoded
// again. Processes that write at the same time must write to different chunks and different shards.
// Fails if the places of chunks are a table; the process that has the file's header uses the
// function with a writer instead.
Status write_encoded_section(const StoredArray& array, const array::Section& section,
                             const std::byte* data, const array::Layout& memory,
                             DataFileCache& files);
// Writes a section through `writer`, with `files` for reading. Calls EncodedWriter::finish() at the
// end.
Status write_encoded_section(const StoredArray& array, const array::Section& section,
                             const std::byte* data, const array::Layout& memory,
                             DataFileCache& files, EncodedWriter& writer);

}  // namespace weir::storage
