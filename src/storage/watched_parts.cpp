#include "storage/watched_parts.hpp"

#include <algorithm>

namespace weir::storage {

bool WatchedParts::next(StoredRange& part) {
  slices_.clear();
  part = {range_.file, offset_, {}, range_.discarded};
  for (std::int64_t room = part_bytes; room > 0 && slice_ < range_.slices.size();) {
    const Slice& slice = range_.slices[slice_];
    // What is discarded is told by where it begins, so it is not cut.
    const bool whole = slice.data == range_.discarded && slice.data != nullptr;
    const std::int64_t bytes = whole ? slice.bytes : std::min(slice.bytes - in_slice_, room);
    slices_.push_back({slice.data + in_slice_, bytes});
    offset_ += bytes;
    room -= bytes;
    in_slice_ += bytes;
    if (in_slice_ < slice.bytes) break;
    ++slice_;
    in_slice_ = 0;
  }
  part.slices = slices_;
  return !slices_.empty();
}

bool has_several_parts(const StoredRange& range) {
  std::int64_t bytes = 0;
  for (const Slice& slice : range.slices) {
    bytes += slice.bytes;
    if (bytes > WatchedParts::part_bytes) return true;
  }
  return false;
}

}  // namespace weir::storage
