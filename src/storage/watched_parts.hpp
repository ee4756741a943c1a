// A range in parts that stay in a processor's second cache from when they are summed until they are
// moved, or the other way round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/transfer_watch.hpp"

namespace weir::storage {

class WatchedParts {
 public:
  // Half of such a cache, and no smaller, as the system lays out its own cache by what is written
  // at once.
  static constexpr std::int64_t part_bytes = 512 << 10;

  // `range` stays as long as this.
  explicit WatchedParts(const StoredRange& range) : range_(range), offset_(range.offset) {}

  // False when there is none left. The part's slices are this object's, until the next call.
  bool next(StoredRange& part);

 private:
  const StoredRange& range_;
  std::int64_t offset_;
  std::size_t slice_ = 0;
  std::int64_t in_slice_ = 0;
  std::vector<Slice> slices_;
};

// Whether a range is of more than one part.
[[nodiscard]] bool has_several_parts(const StoredRange& range);

}  // namespace weir::storage
