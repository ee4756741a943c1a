// Bytes of a file or of memory as equal blocks at nested strides, without a list of their offsets:
// what most datatypes of MPI describe.
//
//     offset 4, levels {3 x 100, 2 x 10}, block 8:  4..11  14..21  104..111  114..121  204..211
//     214..221
//
// Blocks ascend and do not overlap: each stride is at least what the levels within it span. So the
// bytes have one order, that of their offsets, by which they are numbered from 0.
#pragma once

#include <cstddef>
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
  // Returns how many of the bytes have an offset below `limit`.
  [[nodiscard]] std::int64_t bytes_below(std::int64_t limit) const;

  friend bool operator==(const BytePattern&, const BytePattern&) = default;

 private:
  std::int64_t offset_ = 0;
  Levels levels_;
  std::int64_t block_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t span_ = 0;
};

// Bytes in the order of their offsets: patterns, each behind the one before. Most datatypes are a
// few, irregular ones are one for each block.
class PatternList {
 public:
  static constexpr std::size_t most_patterns = std::size_t{16} << 10;  // 3 MiB

  PatternList() = default;  // no bytes
  // NOLINTNEXTLINE(google-explicit-constructor): a pattern is a list of one
  PatternList(const BytePattern& pattern) : bytes_(pattern.bytes()) {
    if (!pattern.empty()) patterns_.push_back(pattern);
  }

  [[nodiscard]] const std::vector<BytePattern>& patterns() const { return patterns_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return patterns_.empty(); }
  // The following two need bytes.
  [[nodiscard]] std::int64_t offset() const { return patterns_.front().offset(); }
  [[nodiscard]] std::int64_t end() const { return patterns_.back().end(); }

  // Adds a pattern that is not empty. Returns false if it begins before the end, or if there are
  // too many.
  [[nodiscard]] bool add(const BytePattern& pattern);
  // These do what BytePattern's functions of the same names do. They also return nothing if there
  // are too many patterns.
  [[nodiscard]] std::optional<PatternList> shifted(std::int64_t by) const;
  [[nodiscard]] std::optional<PatternList> repeated(std::int64_t count, std::int64_t stride) const;

  friend bool operator==(const PatternList&, const PatternList&) = default;

 private:
  std::vector<BytePattern> patterns_;
  std::int64_t bytes_ = 0;
};

// Forms a list of patterns that are added one after the other, and joins those that are alike and
// equally apart. It takes constant memory: the blocks of an indexed datatype may be millions.
class PatternSeries {
 public:
  void add(const std::optional<PatternList>& patterns);
  // Returns all that were added. Nothing if one of them was not, if they do not ascend, or if they
  // are too many patterns.
  [[nodiscard]] std::optional<PatternList> all() const;

 private:
  void add_pattern(const BytePattern& pattern);
  void take(const BytePattern& pattern);
  void end_run();

  bool regular_ = true;
  PatternList list_;
  std::optional<BytePattern> last_;  // not taken yet: the next one may continue its block
  // The patterns that were taken and are not in the list yet.
  BytePattern first_;
  std::int64_t count_ = 0;
  std::int64_t stride_ = 0;  // if there are at least 2
};

// Says how the bytes of a view lie in the file on average, without a look at each row. A row is a
// run of bytes without a hole.
struct ByteSpread {
  double tile_bytes = 1;
  double tile_rows = 0;  // 0: all bytes of the view follow each other
  double tile_span = 1;  // from the first byte of a tile to its last
  double extent = 1;     // from one tile to the next

  [[nodiscard]] bool has_holes() const { return tile_rows > 0; }
  // The following return the number of rows of so many bytes, and how far the last one is from the
  // first.
  [[nodiscard]] double rows_of(double bytes) const;
  [[nodiscard]] double span_of(double bytes) const;
};

// The bytes of a file that a view shows: patterns that are repeated without an end.
class ByteView {
 public:
  // The whole file, from its first byte.
  ByteView() : tile_(BytePattern(0, 1)), extent_(1) {}
  // Tile i of the view begins `extent` bytes behind tile i - 1. Nothing if a byte lies before the
  // file.
  static std::optional<ByteView> create(std::int64_t displacement, const PatternList& tile,
                                        std::int64_t extent);

  enum class Cut : std::uint8_t {
    done,
    impossible,  // the view has no such bytes, or an offset does not fit into 62 bits
    irregular,   // they are more than `most` patterns, or in tiles that overlap or interleave
  };
  // Adds the bytes numbered first to first + bytes - 1 of the view to `found`, in order.
  [[nodiscard]] Cut cut(std::int64_t first, std::int64_t bytes, std::size_t most,
                        std::vector<BytePattern>& found) const;
  // Returns the offset of the first of these bytes if they lie in one block, which takes no memory
  // to find; nothing if they do not, or if they may not: cut() then tells.
  [[nodiscard]] std::optional<std::int64_t> block_at(std::int64_t first, std::int64_t bytes) const;
  // Returns the offset of the first byte if all bytes of the view follow each other.
  [[nodiscard]] std::optional<std::int64_t> dense_offset() const;
  // Takes a look at each pattern of a tile.
  [[nodiscard]] ByteSpread spread() const;
  // Returns how many of the bytes numbered first to first + bytes - 1 one cut() can take: those of
  // one tile, or all if the tiles are one pattern. They are at most some patterns for each of the
  // tile.
  [[nodiscard]] std::int64_t cut_together(std::int64_t first, std::int64_t bytes) const;

 private:
  ByteView(const PatternList& tile, std::int64_t extent) : tile_(tile), extent_(extent) {}
  [[nodiscard]] Cut cut_pattern(std::int64_t first, std::int64_t bytes,
                                std::vector<BytePattern>& found) const;
  // Returns whether each tile begins behind the one before.
  [[nodiscard]] bool repeats() const { return extent_ >= tile_.end() - tile_.offset(); }
  // Returns whether many tiles are one pattern.
  [[nodiscard]] bool is_pattern() const { return repeats() && tile_.patterns().size() == 1; }

  PatternList tile_;
  std::int64_t extent_;
};

}  // namespace weir::array
