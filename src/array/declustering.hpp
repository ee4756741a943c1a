// Assigns chunks (or groups of chunks of consecutive numbers) to K holders (aggregators, files)
// such that any section of an array spreads over all of them, not only the whole array.
//
// Round-robin assignment, n mod K, puts a column of chunks on one holder whenever K divides the
// chunks of a row. Here each holder still gets one of each group of K consecutive numbers, but the
// order turns from group to group by an irrational part of a whole turn:
//
//     holder(n) = (n + ⌊K · frac(α ⌊n / K⌋)⌋) mod K
//
// so that whatever steps a line takes through the numbers, it meets all holders evenly
// (declustering by golden ratio sequences: Chen, Bhatia, Sinha, IEEE TKDE 2003). Which of a few α
// does best depends on the grid: for_grid() tries them on its lines, squares and halves. Every
// group being a permutation, each holder has one of each group, and both ways are in closed form.
#pragma once

#include <cstdint>

#include "array/chunk_grid.hpp"

namespace weir::array {

class Declustering {
 public:
  // For numbers of which nothing is known; holders >= 1.
  explicit Declustering(std::int64_t holders);
  // For the chunks of a grid, assigned `together` (>= 1) consecutive numbers at a time.
  static Declustering for_grid(const ChunkGrid& grid, std::int64_t together, std::int64_t holders);
  // By α as it was chosen before, a fraction of 2^64; 0: number n to holder n mod K.
  static Declustering turning(std::int64_t holders, std::uint64_t turn_per_group) {
    return {holders, turn_per_group};
  }

  [[nodiscard]] std::int64_t holders() const { return holders_; }
  [[nodiscard]] std::uint64_t turn_per_group() const { return turn_per_group_; }
  [[nodiscard]] std::int64_t holder(std::int64_t number) const;
  // The one thing that a holder has of group `group`: number / holders() == group.
  [[nodiscard]] std::int64_t number(std::int64_t holder, std::int64_t group) const;

  friend bool operator==(const Declustering&, const Declustering&) = default;

 private:
  Declustering(std::int64_t holders, std::uint64_t turn_per_group)
      : holders_(holders), turn_per_group_(turn_per_group) {}
  [[nodiscard]] std::int64_t turn(std::int64_t group) const;

  std::int64_t holders_;
  std::uint64_t turn_per_group_;  // α as a fraction of 2^64
};

}  // namespace weir::array
