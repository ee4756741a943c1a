// Telling the system of short ranges before they are moved one by one, where each would wait for a
// journey to storage: it then has the journeys of all of them in flight together. For engines only.
//
// Reading, that is each range of a file whose pages are not in memory. Writing, it is the pages at
// the ranges' ends, of which only a part is written: the system reads them first, when they are in
// the file and not in memory.
//
// Telling costs about as much as moving a page, so it is done only where it was seen to be worth
// it: reading, when the file is cold; writing, when such a page took as long as only storage does.
#pragma once

#include <cstdint>
#include <span>

#include "storage/engines/engine.hpp"

namespace weir::storage {

// Whether the pages at the ends of what is written to a file have to come from storage: tried now
// and then, by reading a byte of one, and believed for a while.
class EdgeWaits {
 public:
  // Before a range is written.
  void watch(int descriptor, const FileRange& range);
  [[nodiscard]] bool wait_for_storage() const { return believed_ > 0; }

 private:
  std::int64_t until_next_try_ = 0;  // ranges
  std::int64_t believed_ = 0;        // ranges
};

// The files of the ranges are SystemFiles. Never fails: what is wrong will be seen when moving.
void announce_reads(std::span<const FileRange> ranges);
void announce_edges(std::span<const FileRange> ranges);

}  // namespace weir::storage
