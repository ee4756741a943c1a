// Where the bytes of an array, or of one of its steps, lie in files: as ranges, to be looked up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "storage/formats/extent_map.hpp"

namespace weir::storage {

// The bytes of one index of dimension 0.
[[nodiscard]] std::int64_t row_bytes(const array::Indices& extents, const array::ElementType& type);

class ArrayPlaces {
 public:
  struct Place {
    std::int64_t file = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  // `step`: of dimension 0, one of the array's; nothing: all of the array. Of encoded chunks
  // nothing, as they have places of their own. Chunks that touch are one range.
  static ArrayPlaces of(const ExtentMap& map, std::optional<std::int64_t> step);

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  // Gives what of the range is the array's, in ascending order.
  void for_each_in(std::int64_t file, std::int64_t begin, std::int64_t end,
                   const std::function<void(std::int64_t, std::int64_t)>& visit) const;

 private:
  std::vector<Place> places_;  // ascending, and none touches another
};

}  // namespace weir::storage
