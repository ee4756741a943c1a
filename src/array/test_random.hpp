// Random arrays, distributions, sections and boxes for property tests: small, so that every element
// can be looked at, and from a seed, so that a failure comes again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "array/box.hpp"
#include "array/box_list.hpp"
#include "array/explicit_distribution.hpp"
#include "array/index_blocks.hpp"
#include "array/linear_range.hpp"
#include "array/per_dimension.hpp"
#include "array/regular_distribution.hpp"
#include "array/section.hpp"
#include "array/shape.hpp"

namespace weir::array {

// The number of cases of a random test: an eighth under the address sanitizer, where each takes ten
// times as long, as what the sanitizer looks for needs many kinds of cases, not many cases.
[[nodiscard]] constexpr int rounds(int all) {
#ifdef __SANITIZE_ADDRESS__
  return all / 8 + 1;
#else
  return all;
#endif
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // A number from `low` to `high`, both included. It is made of the engine's own numbers, as the
  // standard's distributions differ by library.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto width = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(engine_() % width);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  Order order() { return chance(50) ? Order::row_major : Order::column_major; }

  // 1 to 5 dimensions of at most some thousand elements in all; rarely an extent is 0.
  Shape shape() {
    const auto dimensions = between(1, 5);
    const std::vector<std::int64_t> largest = {60, 24, 12, 7, 5};
    const std::int64_t most = largest[static_cast<std::size_t>(dimensions - 1)];
    std::vector<std::int64_t> extents;
    extents.reserve(static_cast<std::size_t>(dimensions));
    for (std::int64_t d = 0; d < dimensions; ++d) {
      extents.push_back(chance(1) ? 0 : between(chance(70) ? (most + 1) / 2 : 1, most));
    }
    return Shape::create(extents).value();
  }

  // Seldom empty, so that a product of several seldom is; mostly with several blocks.
  IndexBlocks blocks(std::int64_t extent) {
    if (chance(3)) return IndexBlocks();
    const std::int64_t widest = std::clamp<std::int64_t>(extent / 3, 2, 12);
    switch (between(0, 3)) {
      case 0: {
        const std::int64_t lower = between(0, extent / 2);
        return IndexBlocks::interval(lower, between(lower, extent));
      }
      case 1: {
        const std::int64_t start = between(0, extent / 3);
        const std::int64_t stride = between(1, widest);
        const std::int64_t most = (extent - 1 - start) / stride + 1;
        return IndexBlocks::strided(start, between((most + 1) / 2, most), stride);
      }
      default: {
        const std::int64_t stride = between(2, widest);
        const auto all = IndexBlocks::periodic(between(0, std::min(stride, extent - 1)),
                                               between(1, stride), stride, extent);
        return chance(50) ? all : all.clipped(between(0, extent / 3), between(extent / 2, extent));
      }
    }
  }

  Box box(const Shape& shape) {
    Box box;
    for (const std::int64_t extent : shape.extents()) {
      const std::int64_t lower = chance(95) ? between(0, extent / 2) : extent;
      box.lower.push_back(lower);
      box.extent.push_back(between(lower < extent ? 1 : 0, extent - lower));
    }
    return box;
  }

  Section section(const Shape& shape) {
    Section section;
    for (const std::int64_t extent : shape.extents()) {
      const std::int64_t start = chance(97) ? between(0, extent / 3) : extent;
      const std::int64_t stride = between(1, 5);
      const std::int64_t most = start < extent ? (extent - 1 - start) / stride + 1 : 0;
      section.start.push_back(start);
      section.count.push_back(between(chance(97) ? (most + 1) / 2 : 0, most));
      section.stride.push_back(stride);
    }
    return section;
  }

  // Over at most 12 ranks.
  RegularDistribution regular(const Shape& shape) {
    std::vector<DistributionFormat> formats;
    ProcessGrid grid{{}, order()};
    std::int64_t ranks_left = 12;
    for (const std::int64_t extent : shape.extents()) {
      const std::int64_t processes = between(1, ranks_left);
      ranks_left /= processes;
      switch (processes == 1 ? between(0, 4) : between(1, 4)) {
        case 0:
          formats.push_back(DistributionFormat::whole_dimension());
          break;
        case 1:
          formats.push_back(DistributionFormat::block_of());
          break;
        case 2:
          formats.push_back(DistributionFormat::block_of((extent + processes - 1) / processes +
                                                         between(extent == 0 ? 1 : 0, 3)));
          break;
        case 3:
          formats.push_back(DistributionFormat::cyclic_of());
          break;
        default:
          formats.push_back(
              DistributionFormat::cyclic_of(between(1, 6), between(0, processes - 1)));
      }
      grid.extents.push_back(processes);
    }
    return RegularDistribution::create(shape, formats, grid).value();
  }

 private:
  std::mt19937_64 engine_;
};

// Every element of the array, in row-major order.
inline std::vector<Indices> all_elements(const Shape& shape) {
  std::vector<Indices> elements;
  elements.reserve(static_cast<std::size_t>(shape.elements()));
  for (std::int64_t number = 0; number < shape.elements(); ++number) {
    elements.push_back(index_of_number(shape, Order::row_major, number));
  }
  return elements;
}

// Returns whether a section holds an element, from the section's definition.
inline bool holds(const Section& section, const Indices& index) {
  for (int d = 0; d < section.dimensions(); ++d) {
    const std::int64_t distance = index[d] - section.start[d];
    if (distance < 0 || distance % section.stride[d] != 0 ||
        distance / section.stride[d] >= section.count[d]) {
      return false;
    }
  }
  return true;
}

}  // namespace weir::array
