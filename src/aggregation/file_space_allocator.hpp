// Places for encoded chunks that several aggregators write into one file without asking each other:
// the file from its free part on is cut into regions, and region r is the aggregator's that r
// modulo their number says. What is left of a region is a hole, which takes no room where files
// have holes.
#pragma once

#include <cstdint>

#include "common/status.hpp"

namespace weir::aggregation {

class FileSpaceAllocator {
 public:
  // `own`: this rank's number among the aggregators; -1 when it is none, and gets no places.
  FileSpaceAllocator(std::int64_t free_from, std::int64_t region_bytes, std::int64_t aggregators,
                     std::int64_t own)
      : free_from_(free_from),
        region_bytes_(region_bytes),
        aggregators_(aggregators),
        own_(own),
        next_region_(own) {}

  // Where so many bytes go, which nobody else has. Fails on more than a region holds, on a rank
  // that is no aggregator, and beyond 63 bits.
  [[nodiscard]] Result<std::int64_t> take(std::int64_t bytes);

 private:
  std::int64_t free_from_;
  std::int64_t region_bytes_;
  std::int64_t aggregators_;
  std::int64_t own_;
  std::int64_t next_region_;
  std::int64_t at_ = 0;  // of the region under way
  std::int64_t end_ = 0;
};

}  // namespace weir::aggregation
