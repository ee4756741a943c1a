// Allocates places for encoded chunks that several writers, which are aggregators or stagers, write
// into one file without communication. The free part of the file is cut into regions, and region r
// belongs to the writer with number r modulo the number of writers. The unused rest of a region is
// a hole, which takes no space in file systems with sparse files.
#pragma once

#include <cstdint>

#include "common/status.hpp"

namespace weir::storage {

class FileSpaceAllocator {
 public:
  // `own`: the number of this writer; -1 if it is none, in which case it gets no places.
  FileSpaceAllocator(std::int64_t free_from, std::int64_t region_bytes, std::int64_t writers,
                     std::int64_t own)
      : free_from_(free_from),
        region_bytes_(region_bytes),
        writers_(writers),
        own_(own),
        next_region_(own) {}

  // Returns the offset of `bytes` bytes that belong to this writer alone. Fails if they exceed a
  // region, if this is no writer, and beyond 63 bits.
  [[nodiscard]] Result<std::int64_t> take(std::int64_t bytes);

 private:
  std::int64_t free_from_;
  std::int64_t region_bytes_;
  std::int64_t writers_;
  std::int64_t own_;
  std::int64_t next_region_;
  std::int64_t at_ = 0;  // in the current region
  std::int64_t end_ = 0;
};

}  // namespace weir::storage
