// Sections of arrays in encoded chunks, in one process: what read_section() and write_section() of
// src/storage/serial do for them.
#pragma once

#include <cstddef>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "storage/encoded/decoded_chunks.hpp"
#include "storage/encoded/encoded_writer.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"

namespace weir::storage {

// Decodes every chunk that the section meets, one at a time. The section is not empty. Chunks of
// which it takes a part are looked for in `kept` and left there; null: nothing is kept.
Status read_encoded_section(const StoredArray& array, const array::Section& section,
                            std::byte* data, const array::Layout& memory, DataFileCache& files,
                            DecodedChunks* kept = nullptr);

// A chunk that the section does not cover whole is decoded, changed and encoded again; processes
// that write at the same time have to write to other chunks, and other shards. Fails where the
// places of chunks are a table, which is known by who has the file's header: there with a writer.
Status write_encoded_section(const StoredArray& array, const array::Section& section,
                             const std::byte* data, const array::Layout& memory,
                             DataFileCache& files);
// Writes a section, `files` being for reading; ends with EncodedWriter::finish().
Status write_encoded_section(const StoredArray& array, const array::Section& section,
                             const std::byte* data, const array::Layout& memory,
                             DataFileCache& files, EncodedWriter& writer);

}  // namespace weir::storage
