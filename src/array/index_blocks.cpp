#include "array/index_blocks.hpp"

#include <algorithm>
#include <cassert>

namespace weir::array {

IndexBlocks::IndexBlocks(std::int64_t lower, std::int64_t upper, std::int64_t origin,
                         std::int64_t length, std::int64_t stride)
    : lower_(lower), upper_(upper), origin_(origin), length_(length), stride_(stride) {
  if (length_ == stride_ || upper_ - origin_ <= stride_) {
    origin_ = lower_;
    length_ = stride_ = upper_ - lower_;
  }
}

IndexBlocks IndexBlocks::interval(std::int64_t lower, std::int64_t upper) {
  if (upper <= lower) return {};
  return {lower, upper, lower, upper - lower, upper - lower};
}

IndexBlocks IndexBlocks::periodic(std::int64_t first, std::int64_t length, std::int64_t stride,
                                  std::int64_t end) {
  assert(1 <= length && length <= stride);
  if (end <= first) return {};
  const std::int64_t last_block = first + (end - 1 - first) / stride * stride;
  const std::int64_t upper = length < end - last_block ? last_block + length : end;
  return {first, upper, first, length, stride};
}

IndexBlocks IndexBlocks::strided(std::int64_t start, std::int64_t count, std::int64_t stride) {
  if (count <= 0) return {};
  return {start, start + (count - 1) * stride + 1, start, 1, stride};
}

std::int64_t IndexBlocks::blocks() const {
  return empty() ? 0 : (upper_ - 1 - origin_) / stride_ + 1;
}

Interval IndexBlocks::block(std::int64_t number) const {
  assert(0 <= number && number < blocks());
  const std::int64_t start = origin_ + number * stride_;
  return {std::max(start, lower_), std::min(start + length_, upper_)};
}

bool IndexBlocks::contains(std::int64_t index) const {
  return index >= lower_ && index < upper_ && (index - origin_) % stride_ < length_;
}

std::int64_t IndexBlocks::position(std::int64_t index) const {
  if (empty() || index <= lower_) return 0;
  const std::int64_t distance = std::min(index, upper_) - origin_;
  const std::int64_t cut = lower_ - origin_;
  return distance / stride_ * length_ + std::min(distance % stride_, length_) - cut;
}

std::int64_t IndexBlocks::at(std::int64_t position) const {
  assert(0 <= position && position < size());
  const std::int64_t uncut = position + (lower_ - origin_);
  return origin_ + uncut / length_ * stride_ + uncut % length_;
}

IndexBlocks IndexBlocks::clipped(std::int64_t lower, std::int64_t upper) const {
  lower = std::max(lower, lower_);
  upper = std::min(upper, upper_);
  if (lower >= upper) return {};
  // Moves both ends inwards to the nearest index of the set.
  const std::int64_t below = (lower - origin_) % stride_;
  std::int64_t origin = lower - below;
  if (below >= length_) origin = lower = origin + stride_;
  if (lower >= upper) return {};
  const std::int64_t last_origin = upper - 1 - (upper - 1 - origin) % stride_;
  upper = std::min(upper, last_origin + length_);
  return {lower, upper, origin, length_, stride_};
}

PerDimension<UniformBlocks, 3> IndexBlocks::uniform() const {
  PerDimension<UniformBlocks, 3> runs;
  std::int64_t first = 0;
  std::int64_t last = blocks();
  if (last == 0) return runs;
  const auto add_one = [&](const Interval& block) {
    runs.push_back({block.lower, block.size(), block.size(), 1});
  };
  if (block(0).size() < length_) {
    add_one(block(0));
    ++first;
  }
  const bool last_is_cut = last > first && block(last - 1).size() < length_;
  if (last_is_cut) --last;
  if (last > first) runs.push_back({origin_ + first * stride_, length_, stride_, last - first});
  if (last_is_cut) add_one(block(last));
  return runs;
}

}  // namespace weir::array
