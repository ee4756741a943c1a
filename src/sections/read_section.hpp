// Reads a section of a stored array into memory, in one process without plans and aggregators. This
// serves tools that examine a part of a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/decoded_chunks.hpp"
#include "sections/section_verifier.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

// Size of the buffer that a call needs in addition to the caller's memory. The buffer is larger if
// one element or one encoded chunk is larger.
inline constexpr std::int64_t serial_buffer_bytes = std::int64_t{4} << 20;

// `memory` has the extents section.count and offsets relative to `data`. Elements that are in no
// file become the array's fill value, or zeros if it has none. Numbers are converted to the
// machine's byte order. Fails if elements of the memory overlap, or if a file cannot be read or
// ends early. With a verifier, which does nothing for encoded chunks, it also fails if a block that
// was read differs from what was written; the memory may then contain a part of the block. Several
// threads may use the same cache. An encoded chunk of which only a part is read is taken from
// `kept`, or decoded and kept there; if `kept` is null, no chunk is kept.
Status read_section(const StoredArray& array, const array::Section& section, std::byte* data,
                    const array::Layout& memory, DataFileCache& files,
                    std::int64_t buffer_bytes = serial_buffer_bytes,
                    SectionVerifier* verifier = nullptr, DecodedChunks* kept = nullptr);

}  // namespace weir::storage
