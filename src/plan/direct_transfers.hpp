// Every rank writes (or reads) its own elements by itself: the simplest strategy, and the best one
// where rows are long.
#pragma once

#include <cstdint>

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "array/region.hpp"
#include "plan/file_image.hpp"

namespace weir::plan {

// The transfers between a rank's memory and the file for one piece of its part, cut to the elements
// asked for: each a value of nested strides, `from` counting bytes of memory and `to` bytes of the
// file. As many as there are uniform regions, never as many as rows. Within one of them the runs
// ascend in the file.
class DirectTransfers {
 public:
  // `memory` holds the dense array of `part`.
  DirectTransfers(const array::Region& part, const array::Region& asked_for,
                  const array::Layout& memory, const FileImage& image);
  // False when there is none left.
  bool next(array::StridedCopy& transfer);

 private:
  array::Region part_;
  array::Layout memory_;
  array::Layout file_;
  array::CommonRegions regions_;
  array::UniformRegions uniforms_;
};

}  // namespace weir::plan
