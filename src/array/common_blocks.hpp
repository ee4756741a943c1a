// The indices that two sets of one dimension have in common, as few sets of equal blocks, found
// one after the other without a list.
//
// Write A's blocks as a + i·Sa + [0, La) and B's as b + j·Sb + [0, Lb). With one of them an
// interval the answer is one set, in closed form. Otherwise:
//
// 1. Blocks i and j meet when d = (b + j·Sb) − (a + i·Sa) lies in (−Lb, La), and d ≡ b − a modulo
//    g = gcd(Sa, Sb). Each such d has one solution i modulo Sb/g, so its overlaps repeat with the
//    period lcm(Sa, Sb): one set per d, at most ⌈(La + Lb − 1)/g⌉ of them, however many blocks
//    meet. (Sections A and B, La = Lb = 1, have one such set or none: the Chinese remainder
//    theorem.)
// 2. When the period does not fit into the window that both share, most d would give nothing. Then
//    the blocks of A that meet B are found one after the other: i such that (a + i·Sa − b) mod Sb
//    is in one range, each in O(log Sb) by Euclid's algorithm, without looking at blocks between.
//
// Either way the work is in proportion to the sets given out, never to indices or to other blocks.
#pragma once

#include <cstdint>

#include "array/index_blocks.hpp"

namespace weir::array {

class CommonBlocks {
 public:
  CommonBlocks() = default;  // nothing in common
  CommonBlocks(const IndexBlocks& a, const IndexBlocks& b);

  // Sets `common` to the next set; false when there is none left. The sets are disjoint and not
  // empty. They ascend unless there are several that interleave (case 1 above).
  bool next(IndexBlocks& common);
  // Starts again from the first set.
  void restart() { state_ = 0; }
  // How many sets and blocks have been looked at, those given out and those that were empty.
  [[nodiscard]] std::int64_t looked_at() const { return looked_at_; }

 private:
  enum class Way : std::uint8_t { none, single, by_difference, by_block };

  bool next_by_difference(IndexBlocks& common);
  bool next_by_block(IndexBlocks& common);

  Way way_ = Way::none;
  IndexBlocks a_;  // the whole answer when single; otherwise the set of the greater stride
  IndexBlocks b_;
  std::int64_t state_ = 0;  // single: 1 when given out; else sets or blocks passed
  std::int64_t looked_at_ = 0;
  std::int64_t divisor_ = 0;           // g
  std::int64_t period_ = 0;            // lcm(Sa, Sb)
  std::int64_t first_difference_ = 0;  // the least d
  std::int64_t inverse_ = 0;           // of Sa/g modulo Sb/g
};

// How many indices two sets have in common.
[[nodiscard]] std::int64_t common_size(const IndexBlocks& a, const IndexBlocks& b);

}  // namespace weir::array
