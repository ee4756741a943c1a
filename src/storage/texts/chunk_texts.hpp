// Texts in the chunks of Zarr: a chunk is how many texts it has, then each text behind its length
// (numcodecs' and Zarr's codec vlen-utf8; all numbers have 4 bytes, little-endian), then encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "array/section.hpp"
#include "common/status.hpp"
#include "storage/formats/format.hpp"
#include "storage/serial/data_file_cache.hpp"
#include "storage/texts/texts.hpp"

namespace weir::storage {

// The most bytes of a chunk of texts, encoded and decoded.
inline constexpr std::int64_t most_text_chunk_bytes = std::int64_t{256} << 20;

[[nodiscard]] Result<Texts> read_chunk_texts(const StoredTexts& texts,
                                             const array::Section& section, DataFileCache& files);

// The texts of a decoded chunk, in its memory. Nothing where it does not hold as many, or ends
// elsewhere than with the last one.
[[nodiscard]] std::optional<std::vector<std::string_view>> parse_text_chunk(
    std::span<const std::byte> chunk, std::int64_t count);

}  // namespace weir::storage
