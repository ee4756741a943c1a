// The tests of arrays share the numbers of elements, and faults that a test asks for.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>
#include <weir/weir.hpp>

#include "harness/on_ranks.hpp"

namespace weir::test {

// Sets what a preloaded library (tests/failure/faulty_io.c) spoils, until the end of the scope. No
// other thread looks at the environment meanwhile.
class Fault {
 public:
  // NOLINTBEGIN(concurrency-mt-unsafe)
  explicit Fault(const std::string& fault) {
    static int tries = 0;
    setenv("WEIR_FAULT", (fault + ",try=" + std::to_string(++tries)).c_str(), 1);
  }
  ~Fault() { setenv("WEIR_FAULT", "", 1); }
  // NOLINTEND(concurrency-mt-unsafe)
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
};

// The number of an element in row-major order.
inline std::int64_t number_of(const Extents& index, const Extents& shape) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + index[d];
  return number;
}

inline std::int64_t elements_of(const Extents& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

// The index of the element of this number in row-major order.
inline Extents index_of(std::int64_t number, const Extents& shape) {
  Extents index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = number % shape[d];
    number /= shape[d];
  }
  return index;
}

// A rank's part, piece after piece, with each element's number in the array, plus 1, as its value.
template <typename Element>
std::vector<Element> numbered_part(const Distribution& distribution, const Extents& shape) {
  std::vector<Element> part;
  for (std::int64_t piece = 0; piece < distribution.pieces(); ++piece) {
    const Extents extents = distribution.shape(piece);
    for (std::int64_t k = 0; k < elements_of(extents); ++k) {
      const Extents global = distribution.global_index(index_of(k, extents), piece);
      part.push_back(static_cast<Element>(number_of(global, shape) + 1));
    }
  }
  return part;
}

}  // namespace weir::test
