// Checksums, by blocks, of data written to files. They are combined from parts in any order.
//
// A file is divided into blocks at multiples of the block size. The checksum of a block covers the
// contiguous bytes that were written in it: the whole block or the part that an array has there.
// Parts of several processes and of several requests are combined without reading any data. Blocks
// whose parts cannot be combined, because they overlap or are too many to be kept, are reported, so
// that they can be read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "system/slices.hpp"

namespace weir::storage {

inline constexpr std::int64_t sum_block_bytes = 1 << 20;

// Contiguous bytes of a file, divided at multiples of the block size, and the crc32c of each part.
struct SummedRun {
  std::int64_t file = 0;  // number given by the caller
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  // > 0
  std::vector<std::uint32_t> sums;

  friend bool operator==(const SummedRun&, const SummedRun&) = default;
};

// Returns the number of blocks that a range touches; `bytes` > 0.
[[nodiscard]] std::int64_t blocks_in(std::int64_t offset, std::int64_t bytes,
                                     std::int64_t block_bytes);
// Returns the crc32c of `bytes` bytes of the slices, beginning `skipped` bytes after their first
// byte. `before` is the checksum of the bytes before them.
[[nodiscard]] std::uint32_t sum_of(std::span<const Slice> slices, std::int64_t skipped,
                                   std::int64_t bytes, std::uint32_t before = 0);

class BlockSums {
 public:
  struct Block {
    std::int64_t file = 0;
    std::int64_t begin = 0;  // a multiple of the block's bytes

    friend auto operator<=>(const Block&, const Block&) = default;
  };
  struct Part {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint32_t sum = 0;
    std::int64_t turn = 0;
  };

  // `most_loose` is the maximum number of parts that are kept in addition to one for each block.
  explicit BlockSums(std::size_t most_loose, std::int64_t block_bytes = sum_block_bytes)
      : most_loose_(most_loose), block_bytes_(block_bytes) {}

  // Sets the turn of the following parts. Parts of a later turn replace the parts of earlier turns
  // that they cover. Parts of one turn do not overlap.
  void set_turn(std::int64_t turn) { turn_ = turn; }
  // Adds `bytes` bytes that are about to be written at `offset`. They begin `skipped` bytes after
  // the first byte of the slices.
  void add(std::int64_t file, std::int64_t offset, std::int64_t bytes,
           std::span<const Slice> slices, std::int64_t skipped = 0);
  // Adds the parts of another object as if they had been added to this one.
  void add(const BlockSums& other);
  // Marks a block into which unknown data was written.
  void add_unclear(const Block& block) { give_up(blocks_[block]); }
  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  void clear();

  // Appends the checksums as numbers for another process. Each record begins with the array's
  // number.
  void tell(std::int64_t array, std::vector<std::int64_t>& numbers) const;
  // Returns the checksums, by array, from the concatenated numbers of several processes' tell().
  [[nodiscard]] static std::map<std::int64_t, BlockSums> told(
      std::span<const std::int64_t> numbers, std::int64_t block_bytes = sum_block_bytes);

  // Returns the runs in ascending order.
  [[nodiscard]] std::vector<SummedRun> runs() const;
  // Returns the blocks that are in no run, because unknown data was written into them or they have
  // many parts with holes between them.
  [[nodiscard]] std::vector<Block> unclear() const;

 private:
  struct Parts {
    bool unclear = false;
    std::vector<Part> parts;  // ascending; parts of one turn are never adjacent
  };

  void insert(Parts& block, const Part& part);
  void give_up(Parts& block);
  [[nodiscard]] static bool in_many(const std::vector<Part>& parts);

  std::size_t most_loose_;
  std::int64_t block_bytes_;
  std::int64_t turn_ = 0;
  std::size_t loose_ = 0;
  std::map<Block, Parts> blocks_;
};

}  // namespace weir::storage
