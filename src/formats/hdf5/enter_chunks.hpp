// Enters chunks that were written somewhere in a file into its datasets.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "formats/format.hpp"

namespace weir::storage {

// Implements Format::enter_chunks(). The library writes the chunks, while the driver makes it
// believe that it chose their places and wrote their bytes. Fails unless the index that readers
// will use then has the right place and length of every chunk.
[[nodiscard]] Result<HeaderUpdate> enter_hdf5_chunks(const std::string& path, const Room& room,
                                                     std::int64_t steps,
                                                     std::span<const WrittenChunk> chunks);

}  // namespace weir::storage
