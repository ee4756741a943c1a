// Iterates over the contiguous runs of a copy.
#pragma once

#include <cstdint>

#include "array/copy.hpp"
#include "array/odometer.hpp"

namespace weir::array {

// Generates the runs of a copy, with their offsets on both sides, in the order of the target.
class CopyRuns {
 public:
  explicit CopyRuns(const StridedCopy& copy);
  // Returns false if no run is left.
  bool next(std::int64_t& from, std::int64_t& to);
  [[nodiscard]] std::int64_t bytes() const { return copy_.bytes; }

 private:
  StridedCopy copy_;
  Odometer<max_levels> place_;
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
};

}  // namespace weir::array
