// Cuts a section of a stored array into spans. A span is a contiguous range of one file that one
// call reads or writes, with the copy between its bytes and the caller's memory.
//
// A span that is read may contain unrequested bytes if that saves calls (data sieving). A span that
// is written contains only bytes of elements.
#pragma once

#include <cstdint>
#include <functional>

#include "array/copy.hpp"
#include "array/layout.hpp"
#include "array/per_dimension.hpp"
#include "array/section.hpp"
#include "common/status.hpp"

namespace weir::storage {

enum class SpanUse : std::uint8_t { reading, writing };

struct SpanLimits {
  // Maximum number of bytes of a span; a single element may be longer.
  std::int64_t most_bytes = 0;
  // A span that is also one run in memory may have any length, because it needs no buffer.
  bool long_runs = true;
};

struct Span {
  std::int64_t file = 0;
  std::int64_t begin = 0;  // bytes from the start of the file
  std::int64_t end = 0;
  // For a read, the copy from the span's bytes to memory; for a write, the opposite copy.
  array::StridedCopy copy;

  [[nodiscard]] std::int64_t bytes() const { return end - begin; }
  // Returns whether the span is also one run in memory, so that no buffer is needed.
  [[nodiscard]] bool is_one_run() const { return copy.levels.empty(); }
};

class SpanCutter {
 public:
  using Take = std::function<Status(const Span&)>;

  // `memory` has the extents of the caller's whole section.
  SpanCutter(SpanUse use, const array::Layout& memory, const SpanLimits& limits, Take take);

  // Passes the spans of `section`, whose indices are those of `stored`, to Take, in ascending order
  // of their places. The section's first element is at index `memory_at` in memory. Stops at the
  // first failure.
  Status cut(std::int64_t file, const array::Layout& stored, const array::Section& section,
             const array::Indices& memory_at) const;

 private:
  [[nodiscard]] Status give(std::int64_t file, const array::Layout& stored,
                            const array::Section& section, const array::Indices& memory_at,
                            std::int64_t begin, std::int64_t end) const;

  SpanUse use_;
  array::Layout memory_;
  SpanLimits limits_;
  Take take_;
};

// Return the copy of a section, whose indices are those of `stored`, to memory, where its first
// element is at index `memory_at`, and the opposite copy. The section is not empty.
[[nodiscard]] array::StridedCopy copy_to_memory(const array::Section& section,
                                                const array::Layout& stored,
                                                const array::Indices& memory_at,
                                                const array::Layout& memory);
[[nodiscard]] array::StridedCopy copy_from_memory(const array::Section& section,
                                                  const array::Layout& stored,
                                                  const array::Indices& memory_at,
                                                  const array::Layout& memory);

// Calls visit(offset, bytes) for each run of the copy's target, counted from the target's start.
void for_each_target_run(const array::StridedCopy& copy,
                         const std::function<void(std::int64_t, std::int64_t)>& visit);

}  // namespace weir::storage
