// The tree of blocks of an adaptive mesh around a blast wave, like that of FLASH's Sedov problem,
// with any number of blocks; and how many of them each rank has. Pure.
//
// The domain is a row of one to eight root blocks along x, so that any number of blocks can be
// reached: refining a block adds eight. Blocks near the shell of the wave are refined first, and
// neighbours, also across edges and corners, differ by at most one level. Blocks are numbered as
// PARAMESH numbers them: each before its children, along the space-filling curve.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weir::bench::flash {

inline constexpr int children_of_block = 8;
inline constexpr int faces_of_block = 6;
// The row of a block in FLASH's "gid": its neighbours, its parent, its children.
inline constexpr int relatives_of_block = faces_of_block + 1 + children_of_block;

// Says what FLASH's files have about one block. Numbers of blocks begin at 1.
struct BlockRecord {
  std::int32_t level = 1;         // 1: a root
  std::int32_t node_type = 1;     // 1: a leaf, 2: has a leaf as child, 3: has none
  std::int32_t which_child = -1;  // 1 to 8 among its parent's; -1: a root
  // -1: there is none on this level; no_neighbour: the face is at the boundary of the domain.
  std::array<std::int32_t, relatives_of_block> relatives = {};
  std::array<double, 3> centre = {};
  std::array<double, 3> size = {};
  std::array<double, 6> bounds = {};  // lower and upper along x, along y, along z
};
inline constexpr std::int32_t no_neighbour = -20;

class Tree {
 public:
  // `blocks` is at least 1.
  explicit Tree(std::int64_t blocks);

  [[nodiscard]] std::int64_t blocks() const { return static_cast<std::int64_t>(order_.size()); }
  // Returns the records of `count` blocks from number `first` on, counted from 0.
  [[nodiscard]] std::vector<BlockRecord> records(std::int64_t first, std::int64_t count) const;

  // Returns the number of root blocks, which lie in a row along x and have edges of length 1.
  [[nodiscard]] static std::int32_t roots_of(std::int64_t blocks);
  // Returns the memory that making a tree takes at most.
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t blocks);

 private:
  using Place = std::array<std::int32_t, 3>;  // in blocks of the level
  struct Node {
    std::int32_t level = 1;
    Place place = {};
    std::int32_t parent = -1;
    std::int32_t first_child = -1;  // its children follow one another; -1: a leaf
    std::int32_t number = 0;        // along the curve, from 1 on
  };

  void add(std::int32_t level, const Place& place, std::int32_t parent);
  void split(std::int32_t node);
  // Refines a leaf, after those neighbours that are too coarse for it. Returns the refinements of
  // `budget` that are left.
  std::int64_t refine(std::int32_t leaf, std::int64_t budget);
  void number();
  [[nodiscard]] bool is_inside(std::int32_t level, const Place& place) const;
  [[nodiscard]] std::int32_t at(std::int32_t level, const Place& place) const;  // -1: none
  [[nodiscard]] std::int32_t coarse_neighbour(const Node& node) const;          // -1: none
  [[nodiscard]] double urgency(const Node& node) const;
  [[nodiscard]] BlockRecord record(const Node& node) const;

  std::int32_t roots_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::int32_t> places_;
  std::vector<std::int32_t> order_;  // nodes along the curve
};

// One rank's blocks.
struct BlockShare {
  std::int64_t first = 0;
  std::int64_t count = 0;

  friend bool operator==(const BlockShare&, const BlockShare&) = default;
};

// Deals blocks to ranks: each has the average, rounded down or up, so that their sum is the average
// times the ranks, rounded. The seed decides which ranks have one block more.
class BlockDistribution {
 public:
  // `average` is at least 1.
  BlockDistribution(double average, std::int64_t ranks, std::uint64_t seed);

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] std::int64_t least() const { return blocks_ / ranks_; }
  [[nodiscard]] std::int64_t most() const { return (blocks_ + ranks_ - 1) / ranks_; }
  [[nodiscard]] BlockShare share(std::int64_t rank) const;
  // Returns a rank that has most() blocks.
  [[nodiscard]] std::int64_t fullest_rank() const { return richer_.empty() ? 0 : richer_.front(); }
  // Returns the rank that has the block.
  [[nodiscard]] std::int64_t rank_of(std::int64_t block) const;

 private:
  std::int64_t ranks_;
  std::int64_t blocks_;
  std::vector<std::int64_t> richer_;  // the ranks that have one more, ascending
};

}  // namespace weir::bench::flash
