#include "array/byte_pattern.hpp"

#include <algorithm>

#include "common/checked.hpp"

namespace weir::array {
namespace {

// Sums of two offsets fit into 63 bits.
constexpr std::int64_t farthest = std::int64_t{1} << 62;

std::optional<std::int64_t> within(std::optional<std::int64_t> offset) {
  const bool fits = offset && -farthest <= *offset && *offset <= farthest;
  return fits ? offset : std::nullopt;
}

// Returns the offset of a block if its end fits into 62 bits.
std::optional<std::int64_t> block_within(std::optional<std::int64_t> offset, std::int64_t bytes) {
  const auto end = offset ? checked_add(*offset, bytes) : std::nullopt;
  return end && *end <= farthest ? offset : std::nullopt;
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

std::int64_t BytePattern::bytes_below(std::int64_t limit) const {
  if (limit <= offset_) return 0;
  if (limit >= end()) return bytes_;
  if (is_block()) return limit - offset_;
  BytePattern last = inner();
  const std::int64_t whole = (limit - offset_) / levels_[0].stride;
  last.offset_ += whole * levels_[0].stride;
  return whole * last.bytes_ + last.bytes_below(limit);
}

bool PatternList::add(const BytePattern& pattern) {
  if (!empty() && pattern.offset() < end()) return false;
  if (patterns_.size() == most_patterns) return false;
  patterns_.push_back(pattern);
  bytes_ += pattern.bytes();  // at most the last offset
  return true;
}

std::optional<PatternList> PatternList::shifted(std::int64_t by) const {
  PatternList moved;
  for (const BytePattern& pattern : patterns_) {
    const auto one = pattern.shifted(by);
    if (!one || !moved.add(*one)) return std::nullopt;
  }
  return moved;
}

std::optional<PatternList> PatternList::repeated(std::int64_t count, std::int64_t stride) const {
  if (count <= 0 || empty()) return PatternList();
  if (count == 1) return *this;
  if (patterns_.size() == 1) {
    const auto one = patterns_.front().repeated(count, stride);
    return one ? std::optional(PatternList(*one)) : std::nullopt;
  }
  if (count > static_cast<std::int64_t>(most_patterns)) return std::nullopt;
  PatternSeries series;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto by = checked_multiply(i, stride);
    series.add(by ? shifted(*by) : std::nullopt);
  }
  return series.all();
}

void PatternSeries::add(const std::optional<PatternList>& patterns) {
  if (!patterns) regular_ = false;
  if (!regular_) return;
  for (const BytePattern& pattern : patterns->patterns()) add_pattern(pattern);
}

void PatternSeries::add_pattern(const BytePattern& pattern) {
  if (last_ && last_->is_block() && pattern.is_block() && last_->end() == pattern.offset()) {
    last_ = BytePattern(last_->offset(), last_->bytes() + pattern.bytes());
    return;
  }
  if (last_) take(*last_);
  last_ = pattern;
}

void PatternSeries::take(const BytePattern& pattern) {
  const std::int64_t behind = pattern.offset() - first_.offset();
  const bool is_alike = count_ > 0 && pattern.has_shape_of(first_);
  if (count_ == 1 && is_alike && behind >= first_.end() - first_.offset()) {
    stride_ = behind;
  } else if (count_ < 2 || !is_alike || behind != count_ * stride_) {
    end_run();
    first_ = pattern;
    count_ = 0;
  }
  ++count_;
}

void PatternSeries::end_run() {
  if (count_ == 0 || !regular_) return;
  const auto run = first_.repeated(count_, stride_);
  regular_ = run && list_.add(*run);
}

std::optional<PatternList> PatternSeries::all() const {
  PatternSeries whole = *this;
  if (last_) whole.take(*last_);
  whole.end_run();
  return whole.regular_ ? std::optional(whole.list_) : std::nullopt;
}

std::optional<ByteView> ByteView::create(std::int64_t displacement, const PatternList& tile,
                                         std::int64_t extent) {
  const auto shown = tile.shifted(displacement);
  if (!shown || displacement < 0) return std::nullopt;
  if (shown->empty()) return ByteView(PatternList(), 0);
  if (shown->offset() < 0) return std::nullopt;
  ByteView view(*shown, extent);
  if (shown->patterns().size() > 1 || !view.repeats()) return view;
  BytePattern first = shown->patterns().front();
  // The tiles of a view that continues its outermost level are what that level repeats.
  while (!first.is_block() && extent == first.levels()[0].count * first.levels()[0].stride) {
    extent = first.levels()[0].stride;
    first = first.inner();
  }
  if (first.is_block() && first.bytes() == extent) {
    return ByteView(BytePattern(first.offset(), 1), 1);
  }
  return ByteView(first, extent);
}

// Cuts a view of one pattern: many of its tiles are one pattern, too.
ByteView::Cut ByteView::cut_pattern(std::int64_t first, std::int64_t bytes,
                                    std::vector<BytePattern>& found) const {
  const std::int64_t tile = first / tile_.bytes();
  const std::int64_t skipped = first % tile_.bytes();
  const auto end = checked_add(skipped, bytes);
  const auto offset = checked_multiply(tile, extent_);
  if (!end || !offset) return Cut::impossible;
  const std::int64_t tiles = *end / tile_.bytes() + (*end % tile_.bytes() != 0 ? 1 : 0);
  const auto begun = tile_.patterns().front().shifted(*offset);
  const auto all = begun ? begun->repeated(tiles, extent_) : std::nullopt;
  if (!all) return Cut::impossible;
  all->cut(skipped, bytes, found);
  return Cut::done;
}

ByteView::Cut ByteView::cut(std::int64_t first, std::int64_t bytes, std::size_t most,
                            std::vector<BytePattern>& found) const {
  if (bytes == 0) return Cut::done;
  if (tile_.empty() || first < 0 || bytes < 0) return Cut::impossible;
  if (is_pattern()) {
    const Cut cut = cut_pattern(first, bytes, found);
    return cut == Cut::done && found.size() > most ? Cut::irregular : cut;
  }
  std::int64_t skipped = first % tile_.bytes();
  if (!repeats() && bytes > tile_.bytes() - skipped) return Cut::irregular;
  for (std::int64_t tile = first / tile_.bytes(); bytes > 0; ++tile) {
    const auto offset = checked_multiply(tile, extent_);
    if (!offset) return Cut::impossible;
    for (const BytePattern& pattern : tile_.patterns()) {
      const std::int64_t left_out = std::min(skipped, pattern.bytes());
      const std::int64_t taken = std::min(bytes, pattern.bytes() - left_out);
      skipped -= left_out;
      if (taken == 0) continue;
      const auto shown = pattern.shifted(*offset);
      if (!shown || shown->offset() < 0) return Cut::impossible;
      shown->cut(left_out, taken, found);
      bytes -= taken;
      if (found.size() > most) return Cut::irregular;
      if (bytes == 0) break;
    }
  }
  return Cut::done;
}

std::optional<std::int64_t> ByteView::block_at(std::int64_t first, std::int64_t bytes) const {
  if (tile_.empty() || !is_pattern() || first < 0 || bytes <= 0) return std::nullopt;
  if (const auto begin = dense_offset()) return block_within(checked_add(*begin, first), bytes);
  const BytePattern& tile = tile_.patterns().front();
  std::int64_t left = first % tile.bytes();
  auto offset = checked_multiply(first / tile.bytes(), extent_);
  if (offset) offset = checked_add(*offset, tile.offset());
  std::int64_t inner = tile.bytes();
  for (const PatternLevel& level : tile.levels()) {
    inner /= level.count;
    if (offset) offset = checked_add(*offset, left / inner * level.stride);
    left %= inner;
  }
  if (bytes > tile.block() - left) return std::nullopt;
  return block_within(offset ? checked_add(*offset, left) : std::nullopt, bytes);
}

std::optional<std::int64_t> ByteView::dense_offset() const {
  if (tile_.empty() || !is_pattern()) return std::nullopt;
  const BytePattern& tile = tile_.patterns().front();
  const bool is_dense = tile.is_block() && tile.bytes() == extent_;
  return is_dense ? std::optional(tile.offset()) : std::nullopt;
}

ByteSpread ByteView::spread() const {
  if (tile_.empty() || dense_offset()) return {};
  ByteSpread spread{.tile_bytes = static_cast<double>(tile_.bytes()),
                    .tile_span = static_cast<double>(tile_.end() - tile_.offset()),
                    .extent = static_cast<double>(extent_)};
  for (const BytePattern& pattern : tile_.patterns()) {
    const std::int64_t rows = pattern.bytes() / pattern.block();
    spread.tile_rows += static_cast<double>(rows);
  }
  return spread;
}

double ByteSpread::rows_of(double bytes) const {
  if (bytes <= 0) return 0;
  return std::max(1.0, bytes / tile_bytes * tile_rows);
}

double ByteSpread::span_of(double bytes) const {
  if (!has_holes()) return bytes;
  const double tiles = bytes / tile_bytes;
  return std::min(1.0, tiles) * tile_span + std::max(0.0, tiles - 1) * extent;
}

std::int64_t ByteView::cut_together(std::int64_t first, std::int64_t bytes) const {
  if (tile_.empty() || is_pattern()) return bytes;
  return std::min(bytes, tile_.bytes() - first % tile_.bytes());
}

}  // namespace weir::array
