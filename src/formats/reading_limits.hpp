// Limits of what reading a file may take, whose writer need not be trusted: WEIR_READ_SECONDS,
// WEIR_READ_BYTES and WEIR_READ_CHUNK_BYTES in the environment of the process that opens the file,
// which is rank 0 of a session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "formats/sandbox_process.hpp"
#include "stored/file_map.hpp"

namespace weir::storage {

struct ReadingLimits {
  // Time and memory for reading what an HDF5 file holds.
  SandboxLimits header;
  // Bytes of all documents of a Zarr folder, or of a raw file's, whose values take up to 32 times
  // as much memory.
  std::size_t document_bytes = 0;
  std::int64_t chunk_bytes = 0;  // most decoded bytes of an encoded chunk
};

// Fails, and names the variable, if a value is invalid.
[[nodiscard]] Result<ReadingLimits> reading_limits(
    const EnvironmentLookup& environment = process_environment);

// Moves arrays whose encoded chunks are larger when decoded to the refused ones.
void refuse_large_chunks(FileMap& map, std::int64_t most_bytes);

}  // namespace weir::storage
