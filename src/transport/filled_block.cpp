#include "transport/filled_block.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "array/copy_kernels.hpp"
#include "common/numbers_in_bytes.hpp"

namespace weir::transport {
namespace {

std::size_t place_of(std::span<const std::byte> block, std::int64_t extent) {
  return block.size() - static_cast<std::size_t>((extent + 1) * extent_bytes);
}

}  // namespace

std::int64_t BlockWriter::room() const {
  return static_cast<std::int64_t>(block_.size()) - bytes_ - extents_ * extent_bytes;
}

void BlockWriter::put(const BlockExtent& extent) const {
  const std::size_t at = place_of(block_, extents_ - 1);
  storage::put_number(block_, at, extent.file);
  storage::put_number(block_, at + 8, extent.offset);
  storage::put_number(block_, at + 16, extent.bytes);
}

std::int64_t BlockWriter::add(std::uint64_t file, std::int64_t offset,
                              std::span<const storage::Slice> slices, std::int64_t skipped) {
  offset += skipped;
  const bool continues = extents_ > 0 && last_.file == file && last_.offset + last_.bytes == offset;
  const std::int64_t most = continues ? room() : room() - extent_bytes;
  std::int64_t taken = 0;
  for (const storage::Slice& slice : slices) {
    const std::int64_t before = std::min(skipped, slice.bytes);
    skipped -= before;
    const std::int64_t bytes = std::min(slice.bytes - before, most - taken);
    if (bytes <= 0) continue;
    std::byte* const to = block_.data() + bytes_ + taken;
    const std::byte* const from = slice.data + before;
    if (target_ == Target::streamed) {
      array::stream_bytes(from, to, static_cast<std::size_t>(bytes));
    } else {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }
    taken += bytes;
  }
  if (taken == 0) return 0;
  bytes_ += taken;
  if (continues) {
    last_.bytes += taken;
  } else {
    last_ = {file, offset, taken};
    ++extents_;
  }
  put(last_);
  return taken;
}

Result<std::vector<BlockExtent>> extents_of(std::span<const std::byte> block,
                                            std::int64_t extents) {
  const auto impossible = [] {
    return Error(ErrorCode::corrupt, "a filled block of the program has impossible extents");
  };
  const auto size = static_cast<std::int64_t>(block.size());
  if (extents < 1 || extents > size / extent_bytes) return impossible();
  std::int64_t room = size - extents * extent_bytes;
  std::vector<BlockExtent> all(static_cast<std::size_t>(extents));
  for (std::int64_t i = 0; i < extents; ++i) {
    const std::size_t at = place_of(block, i);
    BlockExtent& one = all[static_cast<std::size_t>(i)];
    one = {storage::number_at<std::uint64_t>(block, at),
           storage::number_at<std::int64_t>(block, at + 8),
           storage::number_at<std::int64_t>(block, at + 16)};
    const bool possible = one.bytes > 0 && one.bytes <= room && one.offset >= 0 &&
                          one.offset <= std::numeric_limits<std::int64_t>::max() - one.bytes;
    if (!possible) return impossible();
    room -= one.bytes;
  }
  return all;
}

}  // namespace weir::transport
