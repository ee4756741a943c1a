// A list of boxes in one block of memory, the form in which ranks exchange boxes.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "array/box.hpp"

namespace weir::array {

class BoxList {
 public:
  explicit BoxList(int dimensions) : dimensions_(dimensions) {}
  // `numbers` has 2 × dimensions numbers per box: its lower corner, then its extents.
  BoxList(int dimensions, std::vector<std::int64_t> numbers)
      : dimensions_(dimensions), numbers_(std::move(numbers)) {
    assert(numbers_.size() % numbers_per_box() == 0);
  }

  [[nodiscard]] int dimensions() const { return dimensions_; }
  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(numbers_.size() / numbers_per_box());
  }
  [[nodiscard]] std::int64_t lower(std::int64_t box, int dimension) const {
    return numbers_[place(box, dimension)];
  }
  [[nodiscard]] std::int64_t extent(std::int64_t box, int dimension) const {
    return numbers_[place(box, dimensions_ + dimension)];
  }
  [[nodiscard]] Box operator[](std::int64_t number) const {
    Box box;
    for (int d = 0; d < dimensions_; ++d) {
      box.lower.push_back(lower(number, d));
      box.extent.push_back(extent(number, d));
    }
    return box;
  }
  [[nodiscard]] const std::vector<std::int64_t>& numbers() const { return numbers_; }

  void push_back(const Box& box) {
    assert(box.dimensions() == dimensions_);
    numbers_.insert(numbers_.end(), box.lower.begin(), box.lower.end());
    numbers_.insert(numbers_.end(), box.extent.begin(), box.extent.end());
  }

 private:
  [[nodiscard]] std::size_t numbers_per_box() const {
    return 2 * static_cast<std::size_t>(dimensions_);
  }
  [[nodiscard]] std::size_t place(std::int64_t box, int number) const {
    return static_cast<std::size_t>(box) * numbers_per_box() + static_cast<std::size_t>(number);
  }

  int dimensions_;
  std::vector<std::int64_t> numbers_;
};

}  // namespace weir::array
