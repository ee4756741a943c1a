// Texts in Zarr chunks. A chunk contains the number of its texts, then the length and the bytes of
// each text (the codec vlen-utf8 of numcodecs and Zarr; all numbers have 4 bytes, little-endian).
// The chunk is then encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "array/section.hpp"
#include "common/status.hpp"
#include "engines/data_file_cache.hpp"
#include "sections/texts.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

// Maximum number of bytes of a chunk of texts, both encoded and decoded.
inline constexpr std::int64_t most_text_chunk_bytes = std::int64_t{256} << 20;

[[nodiscard]] Result<Texts> read_chunk_texts(const StoredTexts& texts,
                                             const array::Section& section, DataFileCache& files);

// Returns the texts of a decoded chunk, which refer to its memory. Returns nothing if the chunk
// does not contain `count` texts or does not end with the last one.
[[nodiscard]] std::optional<std::vector<std::string_view>> parse_text_chunk(
    std::span<const std::byte> chunk, std::int64_t count);

}  // namespace weir::storage
