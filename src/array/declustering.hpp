// Assigns chunks (or groups of chunks of consecutive numbers) to K holders (aggregators, files)
// such that any section of an array spreads over all of them, not only the whole array.
//
// Round-robin assignment, n mod K, puts a column of chunks on one holder whenever K divides the
// number of chunks in a row. Here each holder still gets one of each group of K consecutive
// numbers, but the order rotates from group to group by an irrational fraction of a full turn:
//
//     holder(n) = (n + ⌊K · frac(α ⌊n / K⌋)⌋) mod K
//
// A line through the numbers then meets all holders evenly, whatever its step (declustering by
// golden ratio sequences: Chen, Bhatia, Sinha, IEEE TKDE 2003). The best α depends on the grid:
// for_grid() tries several on the grid's lines, squares and halves. The holders of each group are a
// permutation, so both the holder of a number and the number that a holder has in a group are
// computed in closed form.
#pragma once

#include <cstdint>

#include "array/chunk_grid.hpp"

namespace weir::array {

class Declustering {
 public:
  // Assigns numbers without knowledge of a grid; holders >= 1.
  explicit Declustering(std::int64_t holders);
  // Assigns the chunks of a grid in groups of `together` (>= 1) consecutive chunks.
  static Declustering for_grid(const ChunkGrid& grid, std::int64_t together, std::int64_t holders);
  // Uses an α that was chosen before, as a fraction of 2^64. With 0, number n goes to holder
  // n mod K.
  static Declustering turning(std::int64_t holders, std::uint64_t turn_per_group) {
    return {holders, turn_per_group};
  }

  [[nodiscard]] std::int64_t holders() const { return holders_; }
  [[nodiscard]] std::uint64_t turn_per_group() const { return turn_per_group_; }
  [[nodiscard]] std::int64_t holder(std::int64_t number) const;
  // Returns the one number that `holder` has in `group`: number / holders() == group.
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
