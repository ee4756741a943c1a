// The indices that two sets of one dimension have in common, as a small number of sets of equal
// blocks, which are found one after the other without a list.
//
// Let A's blocks be a + i·Sa + [0, La) and B's blocks b + j·Sb + [0, Lb). If A or B is an interval,
// the result is one set, in closed form. Otherwise:
//
// 1. Blocks i and j meet if d = (b + j·Sb) − (a + i·Sa) lies in (−Lb, La). Moreover, d ≡ b − a
//    modulo g = gcd(Sa, Sb). Each such d has one solution i modulo Sb/g, so its overlaps repeat
//    with the period lcm(Sa, Sb). Each d therefore gives one set, and there are at most
//    ⌈(La + Lb − 1)/g⌉ sets, however many blocks meet. (If A and B are sections, La = Lb = 1,
//    there is one set or none, by the Chinese remainder theorem.)
// 2. If the period does not fit into the window that A and B share, most d would give no index.
//    Then the blocks of A that meet B are found one after the other: those i for which
//    (a + i·Sa − b) mod Sb lies in one range. Euclid's algorithm finds each of them in O(log Sb)
//    without visiting the blocks between them.
//
// In both cases the work is proportional to the number of sets returned, not to the number of
// indices or of blocks that do not meet.
#pragma once

#include <cstdint>

#include "array/index_blocks.hpp"

namespace weir::array {

class CommonBlocks {
 public:
  CommonBlocks() = default;  // no common index
  CommonBlocks(const IndexBlocks& a, const IndexBlocks& b);

  // Sets `common` to the next set; returns false when no set is left. The sets are disjoint and not
  // empty. They ascend, except that several sets of case 1 above may interleave.
  bool next(IndexBlocks& common);
  // Starts again from the first set.
  void restart() { state_ = 0; }
  // Returns how many sets and blocks have been examined: those returned and those found empty.
  [[nodiscard]] std::int64_t looked_at() const { return looked_at_; }

 private:
  enum class Way : std::uint8_t { none, single, by_difference, by_block };

  bool next_by_difference(IndexBlocks& common);
  bool next_by_block(IndexBlocks& common);

  Way way_ = Way::none;
  IndexBlocks a_;  // for Way::single the whole result; otherwise the set with the greater stride
  IndexBlocks b_;
  std::int64_t state_ = 0;  // Way::single: 1 after the set was returned; else sets or blocks passed
  std::int64_t looked_at_ = 0;
  std::int64_t divisor_ = 0;           // g
  std::int64_t period_ = 0;            // lcm(Sa, Sb)
  std::int64_t first_difference_ = 0;  // the least d
  std::int64_t inverse_ = 0;           // inverse of Sa/g modulo Sb/g
};

// Returns how many indices two sets have in common.
[[nodiscard]] std::int64_t common_size(const IndexBlocks& a, const IndexBlocks& b);

}  // namespace weir::array
