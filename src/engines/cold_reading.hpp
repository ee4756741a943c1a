// Reads of a file whose pages may not be in memory. They find out whether the file is cold.
//
// A read of a cold file needs a storage access, and the system reads ahead only if reads are
// contiguous. It is therefore better to read the holes between wanted ranges than to skip them.
// Each read first takes the bytes that are in memory without waiting (RWF_NOWAIT), which costs
// nothing if all bytes are in memory. If some are missing, the file counts as cold for a number of
// bytes and is then tried again. If the system cannot read without waiting, a file is never cold.
#pragma once

#include <cstdint>
#include <span>

#include "common/status.hpp"
#include "system/file.hpp"
#include "system/slices.hpp"

namespace weir::storage {

// Returns whether a read of the byte at `offset` would wait for storage. It is false at the end of
// the file, and if the system cannot read without waiting.
[[nodiscard]] bool waits_for_storage(const File& file, std::int64_t offset);

class ColdReading {
 public:
  // Reads like read_slices().
  Status read(const File& file, std::span<const Slice> slices, std::int64_t offset,
              std::int64_t& bytes, std::int64_t& calls);

  [[nodiscard]] bool cold() const { return cold_bytes_left_ > 0; }

 private:
  bool possible_ = true;
  std::int64_t cold_bytes_left_ = 0;  // bytes until the file is tried again
  std::int64_t untried_ = 0;          // number of short reads, of which every 16th is tried
};

}  // namespace weir::storage
