// Chunks that were written somewhere in a file become those of its datasets.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "storage/formats/format.hpp"

namespace weir::storage {

// Format::enter_chunks(): the library writes the chunks, and the driver lets it believe that it
// found their places and wrote their bytes. Fails unless the index that readers will use then says
// of every chunk where its bytes are, and how many.
[[nodiscard]] Result<HeaderUpdate> enter_hdf5_chunks(const std::string& path, const Room& room,
                                                     std::int64_t steps,
                                                     std::span<const WrittenChunk> chunks);

}  // namespace weir::storage
