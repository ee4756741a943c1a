#include "plan/direct_transfers.hpp"

namespace weir::plan {

DirectTransfers::DirectTransfers(const array::Region& part, const array::Region& asked_for,
                                 const array::Layout& memory, const FileImage& image)
    : part_(part), memory_(memory), file_(image.layout()), regions_(part, asked_for) {}

bool DirectTransfers::next(array::StridedCopy& transfer) {
  array::UniformRegion uniform;
  while (!uniforms_.next(uniform)) {
    array::Region common;
    if (!regions_.next(common)) return false;
    uniforms_ = array::UniformRegions(common);
  }
  transfer = array::StridedCopy::between(array::localized(uniform, part_), memory_, uniform, file_);
  return true;
}

}  // namespace weir::plan
