// Splits ranges of files into parts of bounded size, each of which is one request to the system.
// For src/engines only.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engines/engine.hpp"

namespace weir::storage {

struct RangePart {
  const FileRange* range = nullptr;
  std::int64_t offset = 0;  // offset in the file
  std::int64_t bytes = 0;
  std::vector<iovec> vectors;  // memory of the bytes, from element `first` on
  std::size_t first = 0;

  [[nodiscard]] std::span<const iovec> left() const { return std::span(vectors).subspan(first); }
  // Removes the first `moved` bytes, which have been moved, from the part.
  void advance(std::int64_t moved);
};

class RangeParts {
 public:
  RangeParts() = default;
  RangeParts(std::span<const FileRange> ranges, std::int64_t bytes_per_part)
      : ranges_(ranges), bytes_per_part_(bytes_per_part) {}

  // Returns false when no part is left. A part has at most as many vectors as Linux accepts.
  bool next(RangePart& part);

 private:
  std::span<const FileRange> ranges_;
  std::int64_t bytes_per_part_ = 0;
  std::size_t range_ = 0;
  std::size_t slice_ = 0;
  std::int64_t in_slice_ = 0;
  std::int64_t in_range_ = 0;
};

// Calls move(slices, offset) for parts of the range of at most `bytes_per_part`, until it fails.
template <typename Move>
Status move_in_parts(const FileRange& range, std::int64_t bytes_per_part, const Move& move) {
  Status status;
  std::vector<Slice> slices;
  RangeParts parts({&range, 1}, bytes_per_part);
  for (RangePart part; status.ok() && parts.next(part);) {
    slices.clear();
    for (const iovec& one : part.left()) {
      slices.push_back(
          {static_cast<std::byte*>(one.iov_base), static_cast<std::int64_t>(one.iov_len)});
    }
    status = move(std::span<const Slice>(slices), part.offset);
  }
  return status;
}

}  // namespace weir::storage
