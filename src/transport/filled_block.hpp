// A block of a stager's memory that a rank has filled: bytes, and the extents of files to which
// they belong.
//
// clang-format off
//     block     bytes of extent 0 | bytes of extent 1 | …   free   … | extent 1 | extent 0
//     extent    number of the file (8), offset in the file (8), bytes (8)
// clang-format on
//
// A rank fills a block that the stager has granted, and hands it over. The stager copies the
// extents before it examines them, because the rank can still write to the block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "array/copy.hpp"
#include "common/status.hpp"
#include "system/slices.hpp"

namespace weir::transport {

// Bytes that an extent takes at the end of a block.
inline constexpr std::int64_t extent_bytes = 24;

struct BlockExtent {
  std::uint64_t file = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

class BlockWriter {
 public:
  BlockWriter() = default;  // an empty block of no size
  // `streamed`: bytes go to memory past the caches. The carrier then waits for them
  // (array::end_streaming()) before the block is handed over.
  using Target = array::StridedCopy::Target;
  explicit BlockWriter(std::span<std::byte> block, Target target = Target::cached)
      : block_(block), target_(target) {}

  // Copies as many bytes of the slices as have room, from `skipped` bytes behind their beginning
  // on, and returns how many. An extent that continues the previous one lengthens it.
  std::int64_t add(std::uint64_t file, std::int64_t offset, std::span<const storage::Slice> slices,
                   std::int64_t skipped);
  [[nodiscard]] std::int64_t extents() const { return extents_; }
  // Return what was put at the beginning of the block, and the extents at its end.
  [[nodiscard]] std::span<const std::byte> data() const {
    return block_.first(static_cast<std::size_t>(bytes_));
  }
  [[nodiscard]] std::span<const std::byte> table() const {
    return block_.last(static_cast<std::size_t>(extents_ * extent_bytes));
  }

 private:
  [[nodiscard]] std::int64_t room() const;
  void put(const BlockExtent& extent) const;

  std::span<std::byte> block_;
  Target target_ = Target::cached;
  std::int64_t bytes_ = 0;
  std::int64_t extents_ = 0;
  BlockExtent last_;
};

// Returns the extents of a filled block. Fails if they are impossible: then nothing of it may be
// used.
[[nodiscard]] Result<std::vector<BlockExtent>> extents_of(std::span<const std::byte> block,
                                                          std::int64_t extents);

}  // namespace weir::transport
