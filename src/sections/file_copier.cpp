#include "sections/file_copier.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "array/byte_swap.hpp"
#include "array/copy_runs.hpp"
#include "array/fill.hpp"
#include "array/odometer.hpp"
#include "common/page.hpp"

namespace weir::storage {
namespace {

using array::CopyLevel;
using array::CopyRuns;
using array::StridedCopy;

// Numbers that are swapped in place are read so many at a time as fit into a second-level cache.
constexpr std::int64_t swapped_at_once = std::int64_t{256} << 10;
// A hole is read by one call, so that it takes no more memory than its own length.
static_assert(array::most_hole_bytes <= swapped_at_once);

// Returns the copy from the file to memory. Its levels have the order of memory.
StridedCopy opposite(const StridedCopy& to_file) {
  StridedCopy copy = to_file;
  std::swap(copy.from_offset, copy.to_offset);
  for (CopyLevel& level : copy.levels) std::swap(level.from_stride, level.to_stride);
  std::stable_sort(copy.levels.begin(), copy.levels.end(),
                   [](const CopyLevel& a, const CopyLevel& b) {
                     return std::abs(a.to_stride) > std::abs(b.to_stride);
                   });
  return copy;
}

// Returns how many rows of a write the runs make that have `bytes` in the file, with their holes.
std::int64_t rows_of(const StridedCopy& copy, std::int64_t bytes) {
  const std::int64_t runs = copy.runs();
  return runs * copy.bytes < bytes ? runs : 1;
}

// Calls visit(copy, bytes in the file) for groups of runs, in the order of the file. The runs of a
// group have holes of at most `widest` bytes and end within `most` bytes.
template <typename Visit>
Status for_each_group(const StridedCopy& to_file, std::int64_t widest, std::int64_t most,
                      const Visit& visit) {
  const array::RunsTogether together = array::runs_together(to_file, widest, most);
  if (together.level == 0) return visit(to_file, together.bytes);
  const int split = together.level - 1;
  const CopyLevel& along = to_file.levels[split];
  // As many indices of the next level as fit make a group, if its holes are narrow.
  std::int64_t most_indices = 1;
  if (array::moves_along(along.to_stride - together.bytes, widest) && together.bytes <= most) {
    most_indices = (most - together.bytes) / along.to_stride + 1;
  }
  const auto group_of = [&](std::int64_t indices) {
    StridedCopy group;
    group.bytes = to_file.bytes;
    if (indices > 1) group.levels.push_back({indices, along.from_stride, along.to_stride});
    for (int level = together.level; level < to_file.levels.size(); ++level) {
      group.levels.push_back(to_file.levels[level]);
    }
    return group;
  };
  const std::int64_t rest = along.count % most_indices;
  StridedCopy full = group_of(most_indices);
  std::optional<StridedCopy> last;
  if (rest > 0) last = group_of(rest);
  StridedCopy outer = to_file;  // its runs are the beginnings of the innermost split level
  while (outer.levels.size() > split) outer.levels.pop_back();
  CopyRuns beginnings(outer);
  std::int64_t from = 0;
  for (std::int64_t to = 0; beginnings.next(from, to);) {
    for (std::int64_t done = 0; done < along.count; done += most_indices) {
      const std::int64_t indices = std::min(most_indices, along.count - done);
      StridedCopy& group = indices == rest ? *last : full;
      group.from_offset = from + done * along.from_stride;
      group.to_offset = to + done * along.to_stride;
      Status status = visit(group, together.bytes + (indices - 1) * along.to_stride);
      if (!status.ok()) return status;
    }
  }
  return {};
}

// Returns whether the runs follow each other in memory.
bool follow_in_memory(const StridedCopy& to_file) {
  std::int64_t inner = to_file.bytes;
  for (int level = to_file.levels.size(); level-- > 0;) {
    if (to_file.levels[level].from_stride != inner) return false;
    inner *= to_file.levels[level].count;
  }
  return true;
}

}  // namespace

Status CopiedFiles::write_rows(std::int64_t file, std::span<const PlacedSlice> rows,
                               std::int64_t& bytes) {
  bytes = 0;
  return for_each_between_holes(rows, [&](std::int64_t offset, std::span<const Slice> slices) {
    Status written = write({file, offset, slices});
    if (written.ok()) bytes += bytes_of(slices);
    return written;
  });
}

void FileCopier::set_options(const FileCopyOptions& options) {
  options_ = options;
  set_reads_holes(true);
}

void FileCopier::set_reads_holes(bool reads_holes) {
  const bool holes = is_reading() && reads_holes;
  narrow_ = holes ? array::widest_hole_of_read(options_.read_cost, false) : 0;
  wide_ = holes ? array::widest_hole_of_read(options_.read_cost, true) : 0;
}

Status FileCopier::move(std::int64_t file, const StridedCopy& to_file, std::byte* memory) {
  if (file != file_) {
    if (Status ended = end(); !ended.ok()) return ended;
    file_ = file;
  }
  const auto take_it = [&](const StridedCopy& span, std::int64_t bytes) {
    return take(span, bytes, memory);
  };
  if (!is_reading() && options_.swapped_together <= 1 && !to_file.levels.empty() &&
      follow_in_memory(to_file)) {
    // Rows at most a page apart become a span; farther ones are written one by one in any case.
    const std::int64_t stride = to_file.levels[to_file.levels.size() - 1].to_stride;
    const auto rows = static_cast<std::int64_t>(most_rows_together);
    const std::int64_t most =
        stride > options_.most_bytes / rows ? options_.most_bytes : stride * rows;
    return for_each_group(to_file, page_bytes, most, take_it);
  }
  if (wide_ == narrow_) return for_each_group(to_file, narrow_, options_.most_bytes, take_it);
  return for_each_group(
      to_file, wide_, options_.most_bytes, [&](const StridedCopy& group, std::int64_t bytes) {
        const auto narrow = array::runs_together(group, narrow_, options_.most_bytes);
        if (narrow.level == 0) return take_it(group, bytes);
        // To ask whether the file is cold costs a call, too.
        std::int64_t calls = 1;
        for (int level = 0; level < narrow.level; ++level) calls *= group.levels[level].count;
        const bool is_worth_a_call = bytes - calls * narrow.bytes > calls * narrow_;
        if (!is_worth_a_call || is_cold(group.to_offset)) return take_it(group, bytes);
        return for_each_group(group, narrow_, options_.most_bytes, take_it);
      });
}

void FileCopier::fill(const StridedCopy& to_memory, std::byte* memory) {
  array::fill_target(to_memory, memory, options_.fill);
  account_.filled += to_memory.runs() * to_memory.bytes;
}

bool FileCopier::is_cold(std::int64_t offset) {
  const bool known = asked_file_ == file_ && offset >= asked_ &&
                     offset - asked_ < std::max(options_.most_bytes, wide_);
  if (!known) {
    cold_ = files_.is_cold(file_, offset);
    asked_file_ = file_;
    asked_ = offset;
  }
  return cold_;
}

// Runs that are longer than the buffer are moved straight, whatever their length.
bool FileCopier::is_straight(const StridedCopy& copy) const {
  if (!is_reading() && options_.swapped_together > 1) return false;
  if (options_.keeps_holes && !copy.levels.empty()) return copy.bytes > options_.most_bytes;
  return copy.bytes >= std::min(straight_from, options_.most_bytes);
}

bool FileCopier::continues_batch(const StridedCopy& copy, std::int64_t bytes) {
  const Span& last = spans_.back();
  const std::int64_t hole = copy.to_offset - last.end;
  const bool is_row = !is_reading() && hole >= 0;
  const auto rows = static_cast<std::size_t>(rows_of(copy, bytes));
  return (is_row ? batch_rows_ + rows <= most_rows_together : spans_.size() < most_together) &&
         is_straight(copy) == straight_ &&
         copy.to_offset + bytes - spans_.front().begin <= options_.most_bytes &&
         (is_row || array::moves_along(hole, narrow_) ||
          (array::moves_along(hole, wide_) && is_cold(last.end))) &&
         (hole == 0 || !straight_ || !options_.keeps_holes);
}

Status FileCopier::take(const StridedCopy& copy, std::int64_t bytes, std::byte* memory) {
  if (!spans_.empty() && !continues_batch(copy, bytes)) {
    if (Status ended = end(); !ended.ok()) return ended;
  }
  if (spans_.empty()) {
    straight_ = is_straight(copy);
  } else if (!is_reading() && copy.to_offset > spans_.back().end) {
    has_rows_ = true;
  }
  const std::int64_t rows = is_reading() ? 1 : rows_of(copy, bytes);
  has_rows_ = has_rows_ || rows > 1;
  batch_rows_ += static_cast<std::size_t>(rows);
  if (shapes_.empty() || shapes_.back().bytes != copy.bytes ||
      shapes_.back().levels != copy.levels) {
    shapes_.push_back(copy);
    shapes_.back().from_offset = 0;
    shapes_.back().to_offset = 0;
  }
  spans_.push_back({copy.to_offset, copy.to_offset + bytes, memory + copy.from_offset,
                    shapes_.size() - 1, copy.runs() * copy.bytes});
  return {};
}

Status FileCopier::end() {
  if (spans_.empty()) return {};
  // A single run needs no buffer, however short it is, unless a write swaps it.
  const bool is_one_run = spans_.size() == 1 && shapes_[spans_.front().shape].levels.empty();
  const bool swaps_a_copy = !is_reading() && options_.swapped_together > 1;
  Status status = has_rows_                                    ? write_spans_as_rows()
                  : straight_ || (is_one_run && !swaps_a_copy) ? move_straight()
                  : is_reading()                               ? read_through_buffer()
                                                               : write_through_buffer();
  clear_batch();
  return status;
}

void FileCopier::clear_batch() {
  spans_.clear();
  slices_.clear();
  has_rows_ = false;
  batch_rows_ = 0;
  if (shapes_.size() > 1) shapes_.erase(shapes_.begin(), shapes_.end() - 1);
}

Status FileCopier::move_straight() {
  std::int64_t begin = spans_.front().begin;  // of the slices
  std::int64_t end = begin;
  const bool in_parts = is_reading() && options_.swapped_together > 1;
  const auto move_them = [&] {
    Status moved = slices_.empty() ? Status() : move_slices(begin);
    slices_.clear();
    begin = end;
    return moved;
  };
  const auto add_run = [&](std::byte* memory, std::int64_t to, std::int64_t run) -> Status {
    if (slices_.size() + 2 > most_together) {  // room for a hole and the run
      if (Status moved = move_them(); !moved.ok()) return moved;
    }
    if (to > end && slices_.empty()) begin = end = to;
    if (to > end) {
      if (hole_.empty()) hole_.resize(static_cast<std::size_t>(array::most_hole_bytes));
      slices_.push_back({hole_.data(), to - end});
      end = to;
    }
    const std::int64_t at_once = in_parts ? swapped_at_once : run;
    for (std::int64_t done = 0; done < run;) {
      const std::int64_t bytes = std::min(run - done, at_once);
      if (in_parts && !slices_.empty() && end - begin + bytes > at_once) {
        if (Status moved = move_them(); !moved.ok()) return moved;
      }
      slices_.push_back({memory + done, bytes});
      done += bytes;
      end += bytes;
    }
    return {};
  };
  for (const Span& span : spans_) {
    const StridedCopy& shape = shapes_[span.shape];
    if (shape.levels.empty()) {
      if (Status added = add_run(span.memory, span.begin, shape.bytes); !added.ok()) return added;
      continue;
    }
    CopyRuns runs(shape);
    std::int64_t from = 0;
    for (std::int64_t to = 0; runs.next(from, to);) {
      Status added = add_run(span.memory + from, span.begin + to, shape.bytes);
      if (!added.ok()) return added;
    }
  }
  return move_them();
}

// Moves the slices between the file, from `offset` on, and memory.
Status FileCopier::move_slices(std::int64_t offset) {
  const StoredRange range{file_, offset, slices_, hole_.empty() ? nullptr : hole_.data()};
  bool there = true;
  if (is_reading()) {
    const auto read = files_.read(range);
    if (!read) return read.error();
    there = read.value();
  } else if (Status written = files_.write(range); !written.ok()) {
    return written;
  }
  for (const Slice& slice : slices_) {
    if (slice.data == range.discarded) {
      account_.holes += there ? slice.bytes : 0;
    } else if (!there) {
      array::fill_elements(slice.data, slice.bytes, options_.fill);
      account_.filled += slice.bytes;
    } else {
      if (is_reading() && options_.swapped_together > 1) {
        array::copy_swapped(slice.data, slice.data, slice.bytes, options_.swapped_together);
      }
      account_.moved += slice.bytes;
    }
  }
  return {};
}

std::byte* FileCopier::buffer(std::int64_t bytes) {
  if (bytes > capacity_) {
    capacity_ = std::max(bytes, std::min(2 * capacity_, options_.most_bytes));
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(capacity_));
  }
  return buffer_.get();
}

Status FileCopier::read_through_buffer() {
  const std::int64_t begin = spans_.front().begin;
  const std::int64_t bytes = spans_.back().end - begin;
  const Slice slice{buffer(bytes), bytes};
  const auto there = files_.read({file_, begin, {&slice, 1}});
  if (!there) return there.error();
  std::int64_t wanted = 0;
  StridedCopy copy;
  for (const Span& span : spans_) {
    if (&span == spans_.data() || span.shape != (&span - 1)->shape) {
      copy = opposite(shapes_[span.shape]);
    }
    wanted += copy.runs() * copy.bytes;
    if (!there.value()) {
      array::fill_target(copy, span.memory, options_.fill);
      continue;
    }
    copy.run(slice.data + (span.begin - begin), span.memory, StridedCopy::Target::cached,
             options_.swapped_together);
  }
  if (there.value()) {
    account_.moved += wanted;
    account_.holes += bytes - wanted;
  } else {
    account_.filled += wanted;
  }
  return {};
}

Status FileCopier::write_through_buffer() {
  const std::int64_t begin = spans_.front().begin;
  const std::int64_t bytes = spans_.back().end - begin;
  // Only a single run may be longer than the buffer.
  if (bytes > options_.most_bytes) return write_long_run(spans_.front());
  const Slice slice{buffer(bytes), bytes};
  for (const Span& span : spans_) {
    shapes_[span.shape].run(span.memory, slice.data + (span.begin - begin),
                            StridedCopy::Target::cached, options_.swapped_together);
  }
  Status written = files_.write({file_, begin, {&slice, 1}});
  if (written.ok()) account_.moved += bytes;
  return written;
}

// Returns whether the spans are one block of memory, of which no number is swapped.
bool FileCopier::is_block_of_memory() const {
  if (options_.swapped_together > 1) return false;
  const std::byte* next = spans_.front().memory;
  return std::ranges::all_of(spans_, [&](const Span& span) {
    const bool follows = span.memory == next && follow_in_memory(shapes_[span.shape]);
    next = span.memory + span.bytes;
    return follows;
  });
}

// Writes spans with holes between them; those in the buffer follow each other there.
Status FileCopier::write_spans_as_rows() {
  rows_.clear();
  const bool is_copied = !straight_ && !is_block_of_memory();
  std::int64_t all = 0;
  for (const Span& span : spans_) all += span.bytes;
  std::byte* packed = is_copied ? buffer(all) : nullptr;
  for (const Span& span : spans_) {
    const StridedCopy& shape = shapes_[span.shape];
    const std::int64_t bytes = span.end - span.begin;
    if (is_copied && span.bytes == bytes) {
      shape.run(span.memory, packed, StridedCopy::Target::cached, options_.swapped_together);
      rows_.push_back({span.begin, {packed, bytes}});
      packed += bytes;
    } else if (shape.levels.empty()) {
      rows_.push_back({span.begin, {span.memory, bytes}});
    } else {
      CopyRuns runs(shape);
      std::int64_t from = 0;
      for (std::int64_t to = 0; runs.next(from, to);) {
        rows_.push_back({span.begin + to, {span.memory + from, shape.bytes}});
      }
    }
  }
  std::int64_t bytes = 0;
  Status written = files_.write_rows(file_, rows_, bytes);
  account_.moved += bytes;
  return written;
}

// Writes a run of swapped numbers that is longer than the buffer.
Status FileCopier::write_long_run(const Span& span) {
  const std::int64_t number = options_.swapped_together;
  const std::int64_t bytes = span.end - span.begin;
  const std::int64_t at_once = std::max(number, options_.most_bytes / number * number);
  for (std::int64_t done = 0; done < bytes; done += at_once) {
    const Slice slice{buffer(at_once), std::min(at_once, bytes - done)};
    array::copy_swapped(span.memory + done, slice.data, slice.bytes, number);
    Status written = files_.write({file_, span.begin + done, {&slice, 1}});
    if (!written.ok()) return written;
    account_.moved += slice.bytes;
  }
  return {};
}

}  // namespace weir::storage
