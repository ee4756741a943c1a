#include "array/region.hpp"

#include <algorithm>

namespace weir::array {

Region::Region(const Box& box) {
  for (int d = 0; d < box.dimensions(); ++d) {
    along_.push_back(IndexBlocks::interval(box.lower[d], box.upper(d)));
  }
}

Region::Region(const Section& section) {
  for (int d = 0; d < section.dimensions(); ++d) {
    along_.push_back(IndexBlocks::strided(section.start[d], section.count[d], section.stride[d]));
  }
}

bool Region::empty() const {
  return std::any_of(along_.begin(), along_.end(),
                     [](const IndexBlocks& blocks) { return blocks.empty(); });
}

std::int64_t Region::elements() const {
  if (empty()) return 0;
  std::int64_t product = 1;
  for (const IndexBlocks& blocks : along_) product *= blocks.size();
  return product;
}

std::int64_t Region::boxes() const {
  if (empty()) return 0;
  std::int64_t product = 1;
  for (const IndexBlocks& blocks : along_) product *= blocks.blocks();
  return product;
}

bool Region::is_box() const {
  return std::all_of(along_.begin(), along_.end(),
                     [](const IndexBlocks& blocks) { return blocks.is_interval(); });
}

Box Region::bounding_box() const {
  Box box;
  for (const IndexBlocks& blocks : along_) {
    box.lower.push_back(blocks.lower());
    box.extent.push_back(blocks.upper() - blocks.lower());
  }
  return box;
}

bool Region::contains(const Indices& index) const {
  for (int d = 0; d < dimensions(); ++d) {
    if (!along_[d].contains(index[d])) return false;
  }
  return true;
}

Region Region::clipped(const Box& box) const {
  Region inside;
  for (int d = 0; d < dimensions(); ++d) {
    inside.along_.push_back(along_[d].clipped(box.lower[d], box.upper(d)));
  }
  return inside;
}

Indices Region::local_extents() const {
  Indices extents;
  for (const IndexBlocks& blocks : along_) extents.push_back(blocks.size());
  return extents;
}

Indices Region::local_index(const Indices& global) const {
  Indices local;
  for (int d = 0; d < dimensions(); ++d) local.push_back(along_[d].position(global[d]));
  return local;
}

Indices Region::global_index(const Indices& local) const {
  Indices global;
  for (int d = 0; d < dimensions(); ++d) global.push_back(along_[d].at(local[d]));
  return global;
}

namespace {

Odometer<>::Counts blocks_along(const Region& region) {
  Odometer<>::Counts counts;
  for (int d = 0; d < region.dimensions(); ++d) counts.push_back(region.along(d).blocks());
  return counts;
}

}  // namespace

RegionBoxes::RegionBoxes(const Region& region)
    : region_(region), block_(blocks_along(region)), current_(region.bounding_box()) {}

bool RegionBoxes::next(Box& box) {
  if (!block_.valid()) return false;
  for (int d = changed_; d < region_.dimensions(); ++d) {
    const Interval interval = region_.along(d).block(block_.digits()[d]);
    current_.lower[d] = interval.lower;
    current_.extent[d] = interval.size();
  }
  box = current_;
  changed_ = block_.advance();
  return true;
}

CommonRegions::CommonRegions(const Region& a, const Region& b) {
  for (int d = 0; d < a.dimensions(); ++d) {
    sets_.push_back(CommonBlocks(a.along(d), b.along(d)));
    current_.push_back({});
  }
}

bool CommonRegions::next(Region& common) {
  if (done_) return false;
  if (!started_) {
    started_ = true;
    for (int d = 0; d < sets_.size(); ++d) done_ = done_ || !sets_[d].next(current_[d]);
  } else {
    int d = sets_.size() - 1;
    while (d >= 0 && !sets_[d].next(current_[d])) {
      sets_[d].restart();
      sets_[d].next(current_[d]);  // a set exists: it was returned before
      --d;
    }
    done_ = d < 0;
  }
  if (!done_) common = Region(current_);
  return !done_;
}

std::int64_t common_elements(const Region& a, const Region& b) {
  std::int64_t elements = a.dimensions() == 0 ? 0 : 1;
  for (int d = 0; d < a.dimensions() && elements > 0; ++d) {
    elements *= common_size(a.along(d), b.along(d));
  }
  return elements;
}

bool meet(const Region& a, const Region& b) {
  Region common;
  return CommonRegions(a, b).next(common);
}

UniformRegions::UniformRegions(const Region& region) {
  Odometer<>::Counts counts;
  for (int d = 0; d < region.dimensions(); ++d) {
    along_.push_back(region.along(d).uniform());
    counts.push_back(along_[d].size());
  }
  choice_ = Odometer<>(counts);
}

bool UniformRegions::next(UniformRegion& uniform) {
  if (!choice_.valid()) return false;
  uniform = {};
  for (int d = 0; d < along_.size(); ++d) {
    uniform.push_back(along_[d][static_cast<int>(choice_.digits()[d])]);
  }
  choice_.advance();
  return true;
}

UniformRegion localized(const UniformRegion& uniform, const Region& part) {
  UniformRegion local;
  for (int d = 0; d < uniform.size(); ++d) {
    const UniformBlocks& blocks = uniform[d];
    const IndexBlocks& held = part.along(d);
    const std::int64_t start = held.position(blocks.start);
    // The stride is a multiple of the part's stride, so the second block gives the local stride of
    // all blocks.
    const std::int64_t stride =
        blocks.count > 1 ? held.position(blocks.start + blocks.stride) - start : 0;
    local.push_back({start, blocks.length, stride, blocks.count});
  }
  return local;
}

UniformRegion uniform_box(const Box& box) {
  UniformRegion uniform;
  for (int d = 0; d < box.dimensions(); ++d) {
    uniform.push_back({box.lower[d], box.extent[d], box.extent[d], 1});
  }
  return uniform;
}

}  // namespace weir::array
