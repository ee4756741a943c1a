// One rank's part of a square matrix in ScaLAPACK's block-cyclic distribution. Pure.
//
// Elements are stored column by column, with `rows()` elements in each. Ranks are numbered down the
// columns of the process grid (layout.hpp).
#pragma once

#include <cstdint>

#include "workloads/madbench/layout.hpp"

namespace weir::bench::madbench {

struct Distribution {
  std::int64_t pixels = 0;  // rows and columns of the matrix
  std::int64_t block = 1;   // rows and columns of a block
  std::int64_t side = 1;    // rows and columns of the process grid
  std::int64_t row = 0;     // of this rank in the process grid
  std::int64_t column = 0;

  // Returns the distribution for `rank` of side × side ranks.
  static Distribution of(std::int64_t pixels, std::int64_t block, std::int64_t side,
                         std::int64_t rank) {
    return {pixels, block, side, rank % side, rank / side};
  }
  [[nodiscard]] std::int64_t rows() const { return block_cyclic_count(pixels, block, row, side); }
  [[nodiscard]] std::int64_t columns() const {
    return block_cyclic_count(pixels, block, column, side);
  }
  [[nodiscard]] std::int64_t elements() const { return rows() * columns(); }
  // Return the index in the whole matrix of a local row or column.
  [[nodiscard]] std::int64_t global_row(std::int64_t local) const {
    return (local / block * side + row) * block + local % block;
  }
  [[nodiscard]] std::int64_t global_column(std::int64_t local) const {
    return (local / block * side + column) * block + local % block;
  }
};

}  // namespace weir::bench::madbench
