// The places of an array's bytes, or of the bytes of one of its steps, in files, as ranges for
// look-ups.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "stored/extent_map.hpp"

namespace weir::storage {

// Returns the number of bytes of one index of dimension 0.
[[nodiscard]] std::int64_t row_bytes(const array::Indices& extents, const array::ElementType& type);

class ArrayPlaces {
 public:
  struct Place {
    std::int64_t file = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  // Returns the places of index `step` of dimension 0, or of the whole array if `step` is empty.
  // Encoded chunks give no places, because their places do not follow from their elements. Adjacent
  // chunks form one range.
  static ArrayPlaces of(const ExtentMap& map, std::optional<std::int64_t> step);

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  // Calls visit(begin, end) for the parts of the range that belong to the array, in ascending
  // order.
  void for_each_in(std::int64_t file, std::int64_t begin, std::int64_t end,
                   const std::function<void(std::int64_t, std::int64_t)>& visit) const;

 private:
  std::vector<Place> places_;  // ascending, no two adjacent
};

}  // namespace weir::storage
