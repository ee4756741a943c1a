#include "plan/file_image.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/number_theory.hpp"

namespace weir::plan {

Result<FileImage> FileImage::create(const array::Shape& shape, const array::ElementType& type,
                                    array::Order order, std::int64_t offset) {
  if (offset < 0) {
    return invalid_argument(
        fmt::format("an array begins at byte {} of its file: give 0 or more", offset));
  }
  const auto layout = array::Layout::packed(shape.extents(), type.bytes(), order, offset);
  if (!layout) return layout.error();
  return FileImage(shape, layout.value(), order, offset);
}

FileImage FileImage::at(std::int64_t offset) const {
  const auto layout = array::Layout::packed(shape_.extents(), element_bytes(), order_, offset);
  return {shape_, layout.value(), order_, offset};
}

std::int64_t FileImage::element_from(std::int64_t byte) const {
  if (byte <= offset_) return 0;
  return std::min(shape_.elements(), array::divide_up(byte - offset_, element_bytes()));
}

}  // namespace weir::plan
