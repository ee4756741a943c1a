// Arrays with encoded chunks that ranks and other stagers describe. Each field of such a
// description may have any value.
#pragma once

#include <string>

#include "common/status.hpp"
#include "stored/file_map.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

// Returns the array of NameFile::encoded or EncodedChunks::encoded.
[[nodiscard]] Result<storage::StoredArray> described_array(const std::string& encoded);

// Returns whether a stager encodes the chunks: they have files of their own, are in shards whose
// rows are not too long, or get places in a table.
[[nodiscard]] bool can_be_encoded(const storage::StoredArray& array,
                                  const transport::ChunkPlaces& places);

// Returns whether chunks of this array may be there.
[[nodiscard]] bool are_possible(const transport::EncodedChunks& chunks,
                                const storage::StoredArray& array);

}  // namespace weir::stager
