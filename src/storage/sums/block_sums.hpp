// Checksums of what is written to files, by blocks, put together from parts in any order.
//
// A file is cut at multiples of the block's bytes; a block's sum is that of the contiguous bytes in
// it which were written, be they all of it or what an array has there. Parts by several processes,
// and in several requests, are put together without reading anything. What cannot be put together,
// because parts overlap, or are too many to be kept, is named, to be read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "storage/engines/slices.hpp"

namespace weir::storage {

inline constexpr std::int64_t sum_block_bytes = 1 << 20;

// Contiguous bytes of a file, cut at multiples of the block's bytes, and the crc32c of each part.
struct SummedRun {
  std::int64_t file = 0;  // its number, of whoever gave it
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  // > 0
  std::vector<std::uint32_t> sums;

  friend bool operator==(const SummedRun&, const SummedRun&) = default;
};

// The parts that a range is cut into; `bytes` > 0.
[[nodiscard]] std::int64_t blocks_in(std::int64_t offset, std::int64_t bytes,
                                     std::int64_t block_bytes);
// The crc32c of `bytes` bytes of memory that lie `skipped` bytes after the slices' first.
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

  // `most_loose`: parts that are kept besides one for each block.
  explicit BlockSums(std::size_t most_loose, std::int64_t block_bytes = sum_block_bytes)
      : most_loose_(most_loose), block_bytes_(block_bytes) {}

  // Parts of a later turn replace those of earlier ones that they cover; parts of one turn do not
  // overlap.
  void set_turn(std::int64_t turn) { turn_ = turn; }
  // `bytes` bytes are about to be written at an offset, those that lie `skipped` bytes after the
  // slices' first.
  void add(std::int64_t file, std::int64_t offset, std::int64_t bytes,
           std::span<const Slice> slices, std::int64_t skipped = 0);
  // What somebody else has summed, as if it had been added here.
  void add(const BlockSums& other);
  // Something was written into the block, and it is not known what.
  void add_unclear(const Block& block) { give_up(blocks_[block]); }
  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  void clear();

  // As numbers, for another process, preceded by the array's number each time.
  void tell(std::int64_t array, std::vector<std::int64_t>& numbers) const;
  // The sums that several processes told, by arrays; their numbers lie one after the other.
  [[nodiscard]] static std::map<std::int64_t, BlockSums> told(
      std::span<const std::int64_t> numbers, std::int64_t block_bytes = sum_block_bytes);

  // In ascending order.
  [[nodiscard]] std::vector<SummedRun> runs() const;
  // Blocks of which something was written, and it is not known what, or in many parts with holes
  // between them: they are in no run.
  [[nodiscard]] std::vector<Block> unclear() const;

 private:
  struct Parts {
    bool unclear = false;
    std::vector<Part> parts;  // ascending; of one turn never next to each other
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
