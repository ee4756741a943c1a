// A region is the product of one IndexBlocks per dimension. It represents the part of a rank in a
// regular distribution, a box, a section, and the elements of these inside a box, without a list.
#pragma once

#include <cstdint>

#include "array/box.hpp"
#include "array/common_blocks.hpp"
#include "array/index_blocks.hpp"
#include "array/odometer.hpp"
#include "array/per_dimension.hpp"
#include "array/section.hpp"

namespace weir::array {

class Region {
 public:
  Region() = default;
  explicit Region(const PerDimension<IndexBlocks>& along) : along_(along) {}
  explicit Region(const Box& box);
  explicit Region(const Section& section);

  [[nodiscard]] int dimensions() const { return along_.size(); }
  [[nodiscard]] const IndexBlocks& along(int dimension) const { return along_[dimension]; }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::int64_t elements() const;
  // Returns the number of boxes over which RegionBoxes iterates.
  [[nodiscard]] std::int64_t boxes() const;
  [[nodiscard]] bool is_box() const;
  [[nodiscard]] Box bounding_box() const;
  [[nodiscard]] bool contains(const Indices& index) const;
  // Returns the elements inside `box`, in closed form: O(dimensions).
  [[nodiscard]] Region clipped(const Box& box) const;

  // Returns the extents of the region packed into a dense array, which is how ranks hold their
  // parts.
  [[nodiscard]] Indices local_extents() const;
  // Convert between the index of an element in the array and its index in that dense array.
  [[nodiscard]] Indices local_index(const Indices& global) const;
  [[nodiscard]] Indices global_index(const Indices& local) const;

  friend bool operator==(const Region&, const Region&) = default;

 private:
  PerDimension<IndexBlocks> along_;
};

// Iterates over the disjoint boxes of a region, in row-major order of their lower corners.
class RegionBoxes {
 public:
  explicit RegionBoxes(const Region& region);
  // Returns false when no box is left.
  bool next(Box& box);

 private:
  Region region_;
  Odometer<> block_;
  Box current_;
  int changed_ = 0;  // the slowest dimension along which the next box differs from current_
};

// Iterates over disjoint regions that together contain the elements that two regions have in
// common. There is at most one if along each dimension one of the two regions is an interval.
class CommonRegions {
 public:
  CommonRegions(const Region& a, const Region& b);
  // Returns false when no region is left.
  bool next(Region& common);

 private:
  PerDimension<CommonBlocks> sets_;
  PerDimension<IndexBlocks> current_;
  bool started_ = false;
  bool done_ = false;
};

// Returns the number of elements that two regions have in common.
[[nodiscard]] std::int64_t common_elements(const Region& a, const Region& b);
[[nodiscard]] bool meet(const Region& a, const Region& b);

// A region whose boxes all have the same shape: equal blocks at one stride along each dimension.
using UniformRegion = PerDimension<UniformBlocks>;

// Iterates over uniform regions that together make up a region. There is one if no block is cut,
// and never more than 3 to the power of the number of dimensions along which the region has several
// blocks.
class UniformRegions {
 public:
  UniformRegions() = default;  // no region
  explicit UniformRegions(const Region& region);
  // Returns false when no region is left.
  bool next(UniformRegion& uniform);

 private:
  PerDimension<PerDimension<UniformBlocks, 3>> along_;
  Odometer<> choice_;
};

// Returns the places of `uniform`'s elements in the dense array of `part`. `uniform` must come from
// an intersection with `part`, so that each of its blocks lies in one block of `part`.
[[nodiscard]] UniformRegion localized(const UniformRegion& uniform, const Region& part);

// Returns a box as a uniform region.
[[nodiscard]] UniformRegion uniform_box(const Box& box);

}  // namespace weir::array
