// A product of one IndexBlocks per dimension: what a rank holds under a regular distribution, a
// box, a section, and what remains of them inside a box. Never a list.
#pragma once

#include <cstdint>
#include <optional>

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
  // Number of boxes that RegionBoxes gives.
  [[nodiscard]] std::int64_t boxes() const;
  [[nodiscard]] bool is_box() const;
  [[nodiscard]] Box bounding_box() const;
  [[nodiscard]] bool contains(const Indices& index) const;
  // The elements inside `box`, in closed form: O(dimensions).
  [[nodiscard]] Region clipped(const Box& box) const;

  // Extents of the region packed into a dense array, as ranks hold their parts.
  [[nodiscard]] Indices local_extents() const;
  // Place in that dense array of an element of the region, and back.
  [[nodiscard]] Indices local_index(const Indices& global) const;
  [[nodiscard]] Indices global_index(const Indices& local) const;
  // The box of the dense array that holds the region's elements inside `box`: the elements of a
  // region in a box are neighbours in memory whatever the distribution.
  [[nodiscard]] Box local_box(const Box& box) const;

  friend bool operator==(const Region&, const Region&) = default;

 private:
  PerDimension<IndexBlocks> along_;
};

// The elements of the region as a section; nothing where a dimension has several blocks that are
// longer than one index.
[[nodiscard]] std::optional<Section> as_section(const Region& region);

// The boxes of a region, disjoint, in row-major order of their lower corners.
class RegionBoxes {
 public:
  explicit RegionBoxes(const Region& region);
  // False when there is none left.
  bool next(Box& box);

 private:
  Region region_;
  Odometer<> block_;
  Box current_;
  int changed_ = 0;  // the slowest dimension along which the next box differs from current_
};

// The elements that two regions have in common, as disjoint regions, found one after the other; one
// only when along each dimension one of the two is an interval.
class CommonRegions {
 public:
  CommonRegions(const Region& a, const Region& b);
  // False when there is none left.
  bool next(Region& common);

 private:
  PerDimension<CommonBlocks> sets_;
  PerDimension<IndexBlocks> current_;
  bool started_ = false;
  bool done_ = false;
};

// Elements that two regions have in common.
[[nodiscard]] std::int64_t common_elements(const Region& a, const Region& b);
[[nodiscard]] bool meet(const Region& a, const Region& b);

// A region all of whose boxes have one shape: equal blocks at one stride along each dimension.
using UniformRegion = PerDimension<UniformBlocks>;

// A region as uniform ones: one when no block is cut, never more than 3 to the power of the number
// of dimensions along which the region has several blocks.
class UniformRegions {
 public:
  UniformRegions() = default;  // none
  explicit UniformRegions(const Region& region);
  // False when there is none left.
  bool next(UniformRegion& uniform);

 private:
  PerDimension<PerDimension<UniformBlocks, 3>> along_;
  Odometer<> choice_;
};

// The places of `uniform`'s elements in the dense array of `part`. `uniform` comes from an
// intersection with `part`, so each of its blocks lies in one block of `part`.
[[nodiscard]] UniformRegion localized(const UniformRegion& uniform, const Region& part);

// `uniform` as seen from the box's lower corner.
[[nodiscard]] UniformRegion relative_to(const UniformRegion& uniform, const Box& box);

// A box as the uniform region it is.
[[nodiscard]] UniformRegion uniform_box(const Box& box);

}  // namespace weir::array
