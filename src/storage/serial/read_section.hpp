// Reads a section of a stored array into memory, in one process: what the collective library does
// by plans and aggregators, for tools that look at a part of a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "storage/encoded/decoded_chunks.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/serial/section_verifier.hpp"

namespace weir::storage {

// What one call needs besides the caller's memory, at most: one buffer of this many bytes, or of
// one element, or of one encoded chunk where that is more.
inline constexpr std::int64_t serial_buffer_bytes = std::int64_t{4} << 20;

// `memory` has the extents section.count and counts from `data`; elements that are in no file get
// the array's fill value, or zeros where it has none. Numbers come in the machine's byte order.
// Fails when elements of the memory overlap, when a file cannot be read or ends early. Safe for
// threads with the same cache. With a verifier, which has nothing to do for encoded chunks, also
// when a block that was read is not what was written; then the memory may hold some of it. Encoded
// chunks of which a part is read are looked for in `kept` and left there; null: nothing is kept.
Status read_section(const StoredArray& array, const array::Section& section, std::byte* data,
                    const array::Layout& memory, DataFileCache& files,
                    std::int64_t buffer_bytes = serial_buffer_bytes,
                    SectionVerifier* verifier = nullptr, DecodedChunks* kept = nullptr);

}  // namespace weir::storage
