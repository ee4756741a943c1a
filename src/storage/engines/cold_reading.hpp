// Reading a file whose pages may not be in memory.
//
// A read of a cold file costs a journey to storage, and the system reads ahead only where one read
// follows the last: holes between reads are better read than left out. Whether that is so is seen
// by reading: each read first takes what is in memory without waiting (RWF_NOWAIT), which costs
// nothing when all of it is. When something is missing the file is cold, and for a while taken to
// be; then it is tried again. Where the system cannot read without waiting, a file is never cold.
#pragma once

#include <cstdint>
#include <span>

#include "common/status.hpp"
#include "storage/engines/file.hpp"
#include "storage/engines/slices.hpp"

namespace weir::storage {

class ColdReading {
 public:
  // As read_slices().
  Status read(const File& file, std::span<const Slice> slices, std::int64_t offset,
              std::int64_t& bytes, std::int64_t& calls);

  [[nodiscard]] bool cold() const { return cold_bytes_left_ > 0; }

 private:
  bool possible_ = true;
  std::int64_t cold_bytes_left_ = 0;  // until the file is tried again
  std::int64_t untried_ = 0;          // short reads since the last one that was tried
};

}  // namespace weir::storage
