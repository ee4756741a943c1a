#include "array/byte_pattern.hpp"

#include <algorithm>

#include "common/checked.hpp"

namespace weir::array {
namespace {

// Sums of two offsets fit into 63 bits.
constexpr std::int64_t most = std::int64_t{1} << 62;

std::optional<std::int64_t> within(std::optional<std::int64_t> offset) {
  const bool fits = offset && -most <= *offset && *offset <= most;
  return fits ? offset : std::nullopt;
}

}  // namespace

std::optional<BytePattern> BytePattern::shifted(std::int64_t by) const {
  const auto offset = within(checked_add(offset_, by));
  if (!offset || !within(checked_add(*offset, span_))) return std::nullopt;
  BytePattern moved = *this;
  moved.offset_ = *offset;
  return moved;
}

std::optional<BytePattern> BytePattern::repeated(std::int64_t count, std::int64_t stride) const {
  if (count <= 0 || empty()) return BytePattern();
  if (count == 1) return *this;
  if (stride < span_) return std::nullopt;
  const auto last = checked_multiply(count - 1, stride);
  const auto span = last ? within(checked_add(*last, span_)) : std::nullopt;
  if (!span || !within(checked_add(offset_, *span))) return std::nullopt;
  BytePattern all = *this;
  all.bytes_ *= count;  // at most the span
  all.span_ = *span;
  if (is_block() && stride == block_) {
    all.block_ *= count;
  } else if (!is_block() && stride == levels_[0].count * levels_[0].stride) {
    all.levels_[0].count *= count;
  } else {
    if (levels_.size() == most_levels) return std::nullopt;
    all.levels_ = Levels{{count, stride}};
    for (const PatternLevel& level : levels_) all.levels_.push_back(level);
  }
  return all;
}

BytePattern BytePattern::inner() const {
  BytePattern one = *this;
  one.levels_ = {};
  for (int level = 1; level < levels_.size(); ++level) one.levels_.push_back(levels_[level]);
  one.bytes_ /= levels_[0].count;
  one.span_ -= (levels_[0].count - 1) * levels_[0].stride;
  return one;
}

void BytePattern::cut(std::int64_t first, std::int64_t bytes,
                      std::vector<BytePattern>& found) const {
  if (bytes <= 0) return;
  if (is_block()) {
    found.emplace_back(offset_ + first, bytes);
    return;
  }
  BytePattern one = inner();
  const std::int64_t stride = levels_[0].stride;
  one.offset_ += first / one.bytes_ * stride;
  const std::int64_t skipped = first % one.bytes_;
  if (skipped > 0) {
    const std::int64_t head = std::min(bytes, one.bytes_ - skipped);
    one.cut(skipped, head, found);
    bytes -= head;
    one.offset_ += stride;
  }
  const std::int64_t whole = bytes / one.bytes_;
  if (whole > 0) {
    found.push_back(one.repeated(whole, stride).value_or(BytePattern()));
    one.offset_ += whole * stride;
  }
  one.cut(0, bytes % one.bytes_, found);
}

void PatternSeries::add(const std::optional<BytePattern>& pattern) {
  if (!pattern) regular_ = false;
  if (!regular_ || pattern->empty()) return;
  if (last_ && last_->is_block() && pattern->is_block() && last_->end() == pattern->offset()) {
    last_ = BytePattern(last_->offset(), last_->bytes() + pattern->bytes());
    return;
  }
  if (last_) take(*last_);
  last_ = pattern;
}

void PatternSeries::take(const BytePattern& pattern) {
  if (count_ == 0) {
    first_ = pattern;
  } else if (count_ == 1) {
    stride_ = pattern.offset() - first_.offset();
    regular_ = regular_ && pattern.has_shape_of(first_);
  } else {
    regular_ = regular_ && pattern.offset() == next_ && pattern.has_shape_of(first_);
  }
  next_ = pattern.offset() + stride_;
  ++count_;
}

std::optional<BytePattern> PatternSeries::all() const {
  if (!regular_) return std::nullopt;
  if (!last_) return BytePattern();
  PatternSeries whole = *this;
  whole.take(*last_);
  if (!whole.regular_) return std::nullopt;
  return whole.first_.repeated(whole.count_, whole.stride_);
}

std::optional<ByteView> ByteView::create(std::int64_t displacement, const BytePattern& tile,
                                         std::int64_t extent) {
  auto first = tile.shifted(displacement);
  if (!first || displacement < 0) return std::nullopt;
  if (tile.empty()) return ByteView(BytePattern(), 0);
  if (first->offset() < 0 || extent < first->end() - first->offset()) return std::nullopt;
  // The tiles of a view that continues its outermost level are what that level repeats.
  while (!first->is_block() && extent == first->levels()[0].count * first->levels()[0].stride) {
    extent = first->levels()[0].stride;
    first = first->inner();
  }
  if (first->is_block() && first->bytes() == extent) {
    return ByteView(BytePattern(first->offset(), 1), 1);
  }
  return ByteView(*first, extent);
}

bool ByteView::cut(std::int64_t first, std::int64_t bytes, std::vector<BytePattern>& found) const {
  if (bytes == 0) return true;
  if (tile_.empty() || first < 0 || bytes < 0) return false;
  const std::int64_t tile = first / tile_.bytes();
  const std::int64_t skipped = first % tile_.bytes();
  const auto end = checked_add(skipped, bytes);
  const auto offset = checked_multiply(tile, extent_);
  if (!end || !offset) return false;
  const std::int64_t tiles = *end / tile_.bytes() + (*end % tile_.bytes() != 0 ? 1 : 0);
  const auto begun = tile_.shifted(*offset);
  const auto all = begun ? begun->repeated(tiles, extent_) : std::nullopt;
  if (!all) return false;
  all->cut(skipped, bytes, found);
  return true;
}

}  // namespace weir::array
