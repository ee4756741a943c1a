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
  RangeParts(std::span<const FileRange> ranges, std::int64_t bytes_per_part)
      : ranges_(ranges), bytes_per_part_(bytes_per_part) {}

  // Returns false when no part is left. A part has at most as many vectors as Linux accepts.
  bool next(RangePart& part);

 private:
  std::span<const FileRange> ranges_;
  std::int64_t bytes_per_part_;
  std::size_t range_ = 0;
  std::size_t slice_ = 0;
  std::int64_t in_slice_ = 0;
  std::int64_t in_range_ = 0;
};

}  // namespace weir::storage
