#include "engines/range_parts.hpp"

#include <algorithm>

namespace weir::storage {
namespace {

constexpr std::size_t most_vectors = 1024;  // IOV_MAX of Linux

}  // namespace

void RangePart::advance(std::int64_t moved) {
  offset += moved;
  bytes -= moved;
  while (moved > 0) {
    iovec& vector = vectors[first];
    const auto length = static_cast<std::int64_t>(vector.iov_len);
    if (moved < length) {
      vector.iov_base = static_cast<std::byte*>(vector.iov_base) + moved;
      vector.iov_len -= static_cast<std::size_t>(moved);
      return;
    }
    moved -= length;
    ++first;
  }
}

bool RangeParts::next(RangePart& part) {
  part.vectors.clear();
  part.first = 0;
  part.bytes = 0;
  while (range_ < ranges_.size() && slice_ == ranges_[range_].slices.size()) {
    ++range_;
    slice_ = 0;
    in_range_ = 0;
  }
  if (range_ == ranges_.size()) return false;
  const FileRange& range = ranges_[range_];
  part.range = &range;
  part.offset = range.offset + in_range_;
  while (slice_ < range.slices.size() && part.vectors.size() < most_vectors &&
         part.bytes < bytes_per_part_) {
    const Slice& slice = range.slices[slice_];
    const std::int64_t bytes = std::min(slice.bytes - in_slice_, bytes_per_part_ - part.bytes);
    part.vectors.push_back({slice.data + in_slice_, static_cast<std::size_t>(bytes)});
    part.bytes += bytes;
    in_range_ += bytes;
    in_slice_ += bytes;
    if (in_slice_ < slice.bytes) break;
    ++slice_;
    in_slice_ = 0;
  }
  return true;
}

}  // namespace weir::storage
