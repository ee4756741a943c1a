// Bytes of a file or of memory as equal blocks at nested strides, without a list of their offsets:
// what most datatypes of MPI describe.
//
//     offset 4, levels {3 x 100, 2 x 10}, block 8:  4..11  14..21  104..111  114..121  204..211
//     214..221
//
// Blocks ascend and do not overlap: each stride is at least what the levels within it span. So the
// bytes have one order, that of their offsets, by which they are numbered from 0.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "array/per_dimension.hpp"

namespace weir::array {

struct PatternLevel {
  std::int64_t count = 1;   // at least 2
  std::int64_t stride = 0;  // bytes

  friend bool operator==(const PatternLevel&, const PatternLevel&) = default;
};

class BytePattern {
 public:
  static constexpr int most_levels = 8;
  using Levels = PerDimension<PatternLevel, most_levels>;

  // A single block of at least 0 bytes; the default is empty.
  BytePattern() = default;
  BytePattern(std::int64_t offset, std::int64_t bytes)
      : offset_(offset), block_(bytes), bytes_(bytes), span_(bytes) {}

  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] std::int64_t block() const { return block_; }
  // From the outermost level, whose stride is the longest, to the innermost.
  [[nodiscard]] const Levels& levels() const { return levels_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  // The offset behind the last byte.
  [[nodiscard]] std::int64_t end() const { return offset_ + span_; }
  [[nodiscard]] bool is_block() const { return levels_.empty(); }
  [[nodiscard]] bool has_shape_of(const BytePattern& other) const {
    return levels_ == other.levels_ && block_ == other.block_;
  }

  // Returns the pattern at another offset. Nothing if an offset does not fit into 62 bits.
  [[nodiscard]] std::optional<BytePattern> shifted(std::int64_t by) const;
  // Returns `count` such patterns, each `stride` bytes behind the one before. Nothing if they would
  // not be blocks that ascend at nested strides, if there are too many levels, or if an offset does
  // not fit into 62 bits.
  [[nodiscard]] std::optional<BytePattern> repeated(std::int64_t count, std::int64_t stride) const;
  // Returns the pattern without its outermost level.
  [[nodiscard]] BytePattern inner() const;
  // Adds the bytes numbered first to first + bytes - 1, which this pattern has, to `found`: at most
  // two patterns for each level and one more.
  void cut(std::int64_t first, std::int64_t bytes, std::vector<BytePattern>& found) const;

  friend bool operator==(const BytePattern&, const BytePattern&) = default;

 private:
  std::int64_t offset_ = 0;
  Levels levels_;
  std::int64_t block_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t span_ = 0;
};

// Patterns one after the other that together are one pattern, in constant memory: the blocks of an
// indexed datatype may be millions.
class PatternSeries {
 public:
  void add(const std::optional<BytePattern>& pattern);
  // Returns the pattern of all that were added. Nothing if they are none, or if one of them was
  // not.
  [[nodiscard]] std::optional<BytePattern> all() const;

 private:
  void take(const BytePattern& pattern);

  bool regular_ = true;
  std::optional<BytePattern> last_;  // not taken yet: the next one may continue its block
  BytePattern first_;
  std::int64_t count_ = 0;
  std::int64_t stride_ = 0;
  std::int64_t next_ = 0;  // where the next one has to begin, if count_ is at least 2
};

// The bytes of a file that a view shows: a pattern that is repeated without an end.
class ByteView {
 public:
  // The whole file, from its first byte.
  ByteView() : tile_(0, 1), extent_(1) {}
  // Tile i of the view begins `extent` bytes behind tile i - 1. Nothing if tiles overlap or
  // interleave, or if a byte lies before the file.
  static std::optional<ByteView> create(std::int64_t displacement, const BytePattern& tile,
                                        std::int64_t extent);

  // Adds the bytes numbered first to first + bytes - 1 of the view to `found`, in order. Returns
  // false if an offset does not fit into 62 bits, or if the view has no bytes but some are asked
  // for.
  [[nodiscard]] bool cut(std::int64_t first, std::int64_t bytes,
                         std::vector<BytePattern>& found) const;

 private:
  ByteView(const BytePattern& tile, std::int64_t extent) : tile_(tile), extent_(extent) {}

  BytePattern tile_;
  std::int64_t extent_;
};

}  // namespace weir::array
