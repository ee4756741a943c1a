#include "adapters/calls/call_pattern.hpp"

#include <algorithm>

namespace weir::calls {
namespace {

// Returns whether two lines differ only in file, offset, times, and strides of `level` and above.
bool alike(const PatternLine& one, const PatternLine& other, std::size_t level) {
  return one.kind == other.kind && one.count == other.count && one.bytes == other.bytes &&
         one.shape == other.shape && one.level == other.level && one.length == other.length &&
         std::equal(one.strides.begin(), one.strides.begin() + static_cast<std::ptrdiff_t>(level),
                    other.strides.begin());
}

void add_times(const PatternLine& from, PatternLine* to) {
  to->first_gap_ns += from.first_gap_ns;
  to->other_gaps_ns += from.other_gaps_ns;
  to->call_ns += from.call_ns;
}

// The distance from `one` to `other`. Wraps around like the sums of replaying it.
Stride distance(const PatternLine& one, const PatternLine& other) {
  const auto minus = [](std::int64_t left, std::int64_t right) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) -
                                     static_cast<std::uint64_t>(right));
  };
  return {minus(other.offset, one.offset), minus(other.file, one.file)};
}

Stride times(std::int64_t count, const Stride& stride) {
  const auto product = [count](std::int64_t one) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(one) *
                                     static_cast<std::uint64_t>(count));
  };
  return {product(stride.offset), product(stride.file)};
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}

}  // namespace

void CallPattern::add(const MadeCall& call) {
  PatternLine& line = lines_[lines_used_];
  line = {};
  line.kind = call.kind;
  line.count = 1;
  line.file = call.file;
  line.offset = call.offset;
  line.bytes = call.bytes;
  line.shape = call.shape;
  line.first_gap_ns = call.gap_ns;
  line.call_ns = call.call_ns;
  parts_[parts_used_] = {0, lines_used_, 0};
  ++lines_used_;
  ++parts_used_;
  shape(parts_used_ - 1);
  while (extend_run() || extend_or_make_loop()) continue;
}

void CallPattern::drop_first(std::size_t parts, std::size_t lines) {
  std::copy(lines_.begin() + static_cast<std::ptrdiff_t>(lines),
            lines_.begin() + static_cast<std::ptrdiff_t>(lines_used_), lines_.begin());
  std::copy(parts_.begin() + static_cast<std::ptrdiff_t>(parts),
            parts_.begin() + static_cast<std::ptrdiff_t>(parts_used_), parts_.begin());
  lines_used_ -= lines;
  parts_used_ -= parts;
  for (std::size_t i = 0; i < parts_used_; ++i) parts_[i].begin -= lines;
}

bool CallPattern::extend_run() {
  if (parts_used_ < 2) return false;
  PatternLine& run = lines_[parts_[parts_used_ - 2].begin];
  const PatternLine& last = lines_[parts_[parts_used_ - 1].begin];
  if (run.level != 0 || last.level != 0 || last.count != 1 || run.kind != last.kind ||
      run.bytes != last.bytes || run.shape != last.shape) {
    return false;
  }
  const Stride there = distance(run, last);
  if (run.count == 1) {
    run.strides[0] = there;
  } else if (there != times(run.count, run.strides[0])) {
    return false;
  }
  ++run.count;
  run.other_gaps_ns += last.first_gap_ns;
  run.call_ns += last.call_ns;
  --parts_used_;
  --lines_used_;
  shape(parts_used_ - 1);
  return true;
}

bool CallPattern::extend_or_make_loop() {
  const std::size_t longest = std::min(longest_body, parts_used_ - 1);
  const std::size_t last = parts_used_ - 1;
  for (std::size_t parts = 1; parts <= longest; ++parts) {
    const Part& before = parts_[last - parts];
    if (before.body == parts && continues(last - parts)) {
      add_round(last - parts);
      return true;
    }
    if (before.shape != parts_[last].shape || 2 * parts > parts_used_ || !repeats(parts)) continue;
    std::size_t level = 1;
    for (std::size_t i = parts_[parts_used_ - parts].begin; i < lines_used_; ++i) {
      level = std::max(level, lines_[i].level + 1);
    }
    if (level >= most_levels) continue;
    make_loop(parts, level);
    return true;
  }
  return false;
}

// Returns whether the last parts are the next round of the loop before them.
bool CallPattern::continues(std::size_t loop_part) const {
  const PatternLine& loop = lines_[parts_[loop_part].begin];
  const std::size_t next = parts_[loop_part + 1].begin;
  if (lines_used_ - next != loop.length) return false;
  for (std::size_t i = 0; i < loop.length; ++i) {
    const PatternLine& first = lines_[parts_[loop_part].begin + 1 + i];
    const PatternLine& now = lines_[next + i];
    if (!alike(first, now, loop.level)) return false;
    if (distance(first, now) != times(loop.count, first.strides[loop.level])) return false;
  }
  return true;
}

// Returns whether the last `parts` parts have the shapes of those before them.
bool CallPattern::repeats(std::size_t parts) const {
  const std::size_t second = parts_used_ - parts;
  for (std::size_t i = 0; i < parts; ++i) {
    if (parts_[second + i].shape != parts_[second - parts + i].shape) return false;
  }
  const std::size_t begin = parts_[second].begin;
  const std::size_t length = lines_used_ - begin;
  const std::size_t before = parts_[second - parts].begin;
  if (begin - before != length) return false;
  for (std::size_t i = 0; i < length; ++i) {
    if (!alike(lines_[before + i], lines_[begin + i], most_levels)) return false;
  }
  return true;
}

void CallPattern::add_round(std::size_t loop_part) {
  const std::size_t begin = parts_[loop_part].begin;
  PatternLine& loop = lines_[begin];
  for (std::size_t i = 1; i <= loop.length; ++i) {
    add_times(lines_[begin + loop.length + i], &lines_[begin + i]);
  }
  ++loop.count;
  lines_used_ -= loop.length;
  parts_used_ = loop_part + 1;
  shape(loop_part);
}

void CallPattern::make_loop(std::size_t parts, std::size_t level) {
  const std::size_t first_part = parts_used_ - 2 * parts;
  const std::size_t begin = parts_[first_part].begin;
  const std::size_t length = (lines_used_ - begin) / 2;
  for (std::size_t i = begin; i < begin + length; ++i) {
    lines_[i].strides[level] = distance(lines_[i], lines_[i + length]);
    add_times(lines_[i + length], &lines_[i]);
  }
  std::copy_backward(lines_.begin() + static_cast<std::ptrdiff_t>(begin),
                     lines_.begin() + static_cast<std::ptrdiff_t>(begin + length),
                     lines_.begin() + static_cast<std::ptrdiff_t>(begin + length + 1));
  PatternLine& loop = lines_[begin];
  loop = {};
  loop.kind = CallKind::loop;
  loop.count = 2;
  loop.level = level;
  loop.length = length;
  lines_used_ = begin + length + 1;
  parts_used_ = first_part + 1;
  parts_[first_part].body = parts;
  shape(first_part);
}

void CallPattern::shape(std::size_t part) {
  std::uint64_t hash = 0;
  for (std::size_t i = parts_[part].begin; i < end_of(part); ++i) {
    const PatternLine& line = lines_[i];
    hash = mixed(hash, static_cast<std::uint64_t>(line.kind));
    hash = mixed(hash, static_cast<std::uint64_t>(line.count));
    hash = mixed(hash, static_cast<std::uint64_t>(line.bytes));
    hash = mixed(hash, static_cast<std::uint64_t>(line.shape));
    hash = mixed(hash, static_cast<std::uint64_t>(line.length));
    for (const Stride& stride : line.strides) {
      hash = mixed(hash, static_cast<std::uint64_t>(stride.offset));
      hash = mixed(hash, static_cast<std::uint64_t>(stride.file));
    }
  }
  parts_[part].shape = hash;
}

}  // namespace weir::calls
