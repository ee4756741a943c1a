// A dense array in one file, in one order, after a header.
#pragma once

#include <cstdint>

#include "array/element_type.hpp"
#include "array/layout.hpp"
#include "array/per_dimension.hpp"
#include "array/shape.hpp"
#include "common/status.hpp"

namespace weir::plan {

// The elements with numbers first <= number < last in the order of the file.
struct ElementRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  [[nodiscard]] std::int64_t size() const { return last - first; }
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

class FileImage {
 public:
  // Creates an image whose first element is `offset` bytes (>= 0) from the start of the file. Fails
  // if the offset of the last byte does not fit into 63 bits.
  static Result<FileImage> create(const array::Shape& shape, const array::ElementType& type,
                                  array::Order order, std::int64_t offset);

  // Returns the image of the same array at another offset, which must not exceed an offset that
  // create() accepted for this array.
  [[nodiscard]] FileImage at(std::int64_t offset) const;

  [[nodiscard]] const array::Shape& shape() const { return shape_; }
  [[nodiscard]] array::Order order() const { return order_; }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] std::int64_t element_bytes() const { return layout_.element_bytes(); }
  // Returns the layout that gives the offsets of elements by their index in the array.
  [[nodiscard]] const array::Layout& layout() const { return layout_; }
  // Returns the offset of the first byte of the element with this number.
  [[nodiscard]] std::int64_t byte_of(std::int64_t number) const {
    return offset_ + number * element_bytes();
  }
  // Returns the number of the first element whose first byte is at or after `byte`, but at most the
  // number of the last element plus 1.
  [[nodiscard]] std::int64_t element_from(std::int64_t byte) const;

  friend bool operator==(const FileImage&, const FileImage&) = default;

 private:
  FileImage(const array::Shape& shape, const array::Layout& layout, array::Order order,
            std::int64_t offset)
      : shape_(shape), layout_(layout), order_(order), offset_(offset) {}

  array::Shape shape_;
  array::Layout layout_;
  array::Order order_;
  std::int64_t offset_;
};

}  // namespace weir::plan
