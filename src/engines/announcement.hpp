// Announcements (prefetch hints) of short ranges to the system before they are moved one by one.
// Without them, each range would wait for a storage access; with them, the system has all these
// accesses in flight together. For engines only.
//
// A read announces each range of a file whose pages are not in memory. A write announces the pages
// at the ends of its ranges that are written in part: the system must first read such a page if the
// file contains it and memory does not.
//
// An announcement costs about as much as moving a page. It is therefore made only if it has proved
// worthwhile: for reads, if the file is cold; for writes, if the access to such a page took so long
// that it must have come from storage.
#pragma once

#include <cstdint>
#include <span>

#include "engines/engine.hpp"

namespace weir::storage {

// Estimates whether the pages at the ends of ranges that are written to a file must be read from
// storage. The class occasionally reads a byte of such a page and uses the result for a number of
// ranges.
class EdgeWaits {
 public:
  // Called before a range is written.
  void watch(int descriptor, const FileRange& range);
  [[nodiscard]] bool wait_for_storage() const { return believed_ > 0; }

 private:
  std::int64_t until_next_try_ = 0;  // ranges until the next try
  std::int64_t believed_ = 0;        // ranges for which the result of the last try still holds
};

// Announce ranges, whose files are SystemFiles. These functions do not fail: the transfer itself
// reports errors.
void announce_reads(std::span<const FileRange> ranges);
void announce_edges(std::span<const FileRange> ranges);

}  // namespace weir::storage
