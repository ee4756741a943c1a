#include "adapters/takeover/own_transfer.hpp"

#include <fmt/format.h>

#include <limits>
#include <span>
#include <vector>

#include "array/chunk_grid.hpp"
#include "array/copy.hpp"
#include "engines/cold_reading.hpp"
#include "sections/chunk_sections.hpp"
#include "sections/file_copier.hpp"
#include "system/file_facts.hpp"
#include "system/scattered_write.hpp"
#include "system/slices.hpp"

namespace weir::takeover {
namespace {

using array::BytePattern;
using storage::FileCopier;
using storage::StoredRange;

// A read that finds the end of the file is reported by ended(), and moves no further bytes.
class OwnFile final : public storage::CopiedFiles {
 public:
  explicit OwnFile(const storage::File& file) : file_(file) {}

  Result<bool> read(const StoredRange& range) override {
    std::int64_t bytes = 0;
    std::int64_t calls = 0;
    Status done = storage::read_slices(file_, range.slices, range.offset, bytes, calls);
    if (!done.ok()) return done.error();
    if (bytes < storage::bytes_of(range.slices)) {
      ended_ = true;
      return Error(ErrorCode::short_transfer, "the file ends");
    }
    return true;
  }
  Status write(const StoredRange& range) override {
    std::int64_t calls = 0;
    return storage::write_slices(file_, range.slices, range.offset, calls);
  }
  Status write_rows(std::int64_t /*file*/, std::span<const storage::PlacedSlice> rows,
                    std::int64_t& bytes) override {
    std::int64_t calls = 0;
    return storage::write_scattered(file_, rows, bytes, calls);
  }
  bool is_cold(std::int64_t /*file*/, std::int64_t offset) override {
    return storage::waits_for_storage(file_, offset);
  }

  [[nodiscard]] bool ended() const { return ended_; }

 private:
  const storage::File& file_;
  bool ended_ = false;
};

// The copy between bytes that follow each other in memory, from `at` on, and those of a pattern.
array::StridedCopy copy_of(const BytePattern& pattern, std::int64_t at) {
  array::StridedCopy copy;
  copy.from_offset = at;
  copy.to_offset = pattern.offset();
  copy.bytes = pattern.block();
  std::int64_t inner = pattern.bytes();
  for (const array::PatternLevel& level : pattern.levels()) {
    inner /= level.count;
    copy.levels.push_back({level.count, inner, level.stride});
  }
  return copy;
}

// Calls visit(pattern) for the patterns of the range, in order, until one returns false.
template <typename Visit>
void for_each_pattern(const ViewRange& range, const Visit& visit) {
  std::vector<BytePattern> found;
  for (std::int64_t done = 0; done < range.bytes;) {
    const std::int64_t first = range.first + done;
    const std::int64_t together = range.view->cut_together(first, range.bytes - done);
    found.clear();
    (void)range.view->cut(first, together, std::numeric_limits<std::size_t>::max(), found);
    for (const BytePattern& pattern : found) {
      if (!visit(pattern)) return;
    }
    done += together;
  }
}

Status move_bytes(OwnFile& file, Direction direction, const ViewRange& range, std::byte* memory) {
  FileCopier copier(file, {.direction = direction});
  std::int64_t at = 0;
  Status moved;
  for_each_pattern(range, [&](const BytePattern& pattern) {
    moved = copier.move(0, copy_of(pattern, at), memory);
    at += pattern.bytes();
    return moved.ok();
  });
  return moved.ok() ? copier.end() : moved;
}

}  // namespace

std::int64_t bytes_in_file(const ViewRange& range, std::int64_t file_bytes) {
  std::int64_t all = 0;
  for_each_pattern(range, [&](const BytePattern& pattern) {
    const std::int64_t there = pattern.bytes_below(file_bytes);
    all += there;
    return there == pattern.bytes();
  });
  return all;
}

// Offsets ascend with the tiles of a view, or descend: the first and the last byte are the
// farthest.
bool is_shown(const ViewRange& range) {
  if (range.bytes <= 0) return range.bytes == 0;
  std::vector<BytePattern> found;
  const auto is_there = [&](std::int64_t number) {
    return range.view->cut(number, 1, 1, found) == array::ByteView::Cut::done;
  };
  if (!is_there(range.first)) return false;
  found.clear();
  return is_there(range.first + range.bytes - 1);
}

Status write_range(const storage::File& file, const ViewRange& range, std::byte* memory) {
  OwnFile own(file);
  return move_bytes(own, Direction::write, range, memory);
}

Result<std::int64_t> read_range(const storage::File& file, const ViewRange& range,
                                std::byte* memory) {
  OwnFile own(file);
  const Status read = move_bytes(own, Direction::read, range, memory);
  if (read.ok()) return range.bytes;
  if (!own.ended()) return read.error();
  const auto facts = storage::facts_of(fmt::format("/proc/self/fd/{}", file.descriptor()));
  if (!facts) return facts.error();
  const ViewRange there{range.view, range.first, bytes_in_file(range, facts.value().bytes)};
  const Status again = move_bytes(own, Direction::read, there, memory);
  return again.ok() ? Result<std::int64_t>(there.bytes) : again.error();
}

Status write_block(const storage::File& file, std::int64_t offset, std::int64_t bytes,
                   std::byte* memory) {
  const storage::Slice slice{memory, bytes};
  std::int64_t calls = 0;
  return storage::write_slices(file, {&slice, 1}, offset, calls);
}

Result<std::int64_t> read_block(const storage::File& file, std::int64_t offset, std::int64_t bytes,
                                std::byte* memory) {
  const storage::Slice slice{memory, bytes};
  std::int64_t moved = 0;
  std::int64_t calls = 0;
  Status read = storage::read_slices(file, {&slice, 1}, offset, moved, calls);
  return read.ok() ? Result<std::int64_t>(moved) : read.error();
}

Status move_region(const storage::File& file, Direction direction, const ChunkedRegion& moved,
                   std::byte* memory) {
  OwnFile own(file);
  FileCopier copier(own, {.direction = direction});
  const storage::ChunkExtents& chunks = *moved.map->chunks();
  array::ChunksMeeting meeting(chunks.grid, *moved.region);
  for (std::int64_t chunk = 0; meeting.next(chunk);) {
    const auto place = chunks.place_of(chunk);
    if (!place) return invalid_argument(fmt::format("chunk {} has no place in the file", chunk));
    const auto layout = storage::layout_of_chunk(*moved.map, chunk, *place);
    if (!layout) return layout.error();
    const array::Box box = chunks.grid.box(chunk);
    array::UniformRegions parts(moved.region->clipped(box));
    for (array::UniformRegion part; parts.next(part);) {
      const array::UniformRegion here = array::localized(part, *moved.region);
      for (int d = 0; d < part.size(); ++d) part[d].start -= box.lower[d];
      const auto copy = array::StridedCopy::between(here, *moved.memory, part, layout.value());
      if (Status done = copier.move(0, copy, memory); !done.ok()) return done;
    }
  }
  return copier.end();
}

}  // namespace weir::takeover
