// The place of each rank's share of each matrix in memory and in the files. Pure.
//
// Matrices are no_pix × no_pix doubles in ScaLAPACK's block-cyclic distribution: square blocks of
// sblocksize over a √P × √P grid, with ranks numbered down the columns. Gang level 1 is all ranks;
// level 2 is no_gang consecutive sets of ranks, each of which holds whole matrices.
//
// In a file, a rank's matrix b of level 1 starts at b × offcount₁ doubles, and one of level 2 at b
// × offcount₂ = b × no_gang × offcount₁; in a shared file rank × no_bin × offcount₁ is added.
// offcount₁ is the smallest multiple of fblocksize that holds the largest level-1 share and the
// largest level-2 share divided by no_gang. Result b of W therefore covers the places of the S
// matrices b × no_gang … (b+1) × no_gang - 1, which are consumed by then.
#pragma once

#include <cstdint>

#include "common/status.hpp"
#include "workloads/madbench/parameters.hpp"

namespace weir::bench::madbench {

enum class GangLevel { all_ranks, gang };

struct Extent {
  std::int64_t offset = 0;  // bytes
  std::int64_t bytes = 0;
};

class Layout {
 public:
  // Fails if a size exceeds 63 bits. `size` must have passed validate().
  static Result<Layout> create(const Size& size, FileType file_type);

  // Returns the bytes of `rank`'s share of one matrix.
  [[nodiscard]] std::int64_t share_bytes(GangLevel level, std::int64_t rank) const;
  [[nodiscard]] std::int64_t largest_share_bytes(GangLevel level) const;
  // Returns the place of `rank`'s share of matrix `index` of the level in its file.
  [[nodiscard]] Extent extent(GangLevel level, std::int64_t rank, std::int64_t index) const;
  // Returns the part of the file that belongs to `rank`, with all its matrices.
  [[nodiscard]] Extent region(std::int64_t rank) const;
  [[nodiscard]] std::int64_t ranks_per_gang() const { return size_.no_pe / size_.no_gang; }
  [[nodiscard]] std::int64_t matrices(GangLevel level) const;
  // These are in Table 1 of Borrill et al.: five matrices per rank in memory, no_bin matrices on
  // disk.
  [[nodiscard]] std::int64_t memory_bytes_per_rank() const { return memory_bytes_per_rank_; }
  [[nodiscard]] std::int64_t disk_bytes() const { return disk_bytes_; }
  [[nodiscard]] std::int64_t slot_bytes() const { return slot_bytes_; }  // offcount₁ in bytes

 private:
  Size size_;
  FileType file_type_ = FileType::unique;
  std::int64_t slot_bytes_ = 0;
  std::int64_t memory_bytes_per_rank_ = 0;
  std::int64_t disk_bytes_ = 0;
};

inline constexpr std::int64_t matrices_in_memory = 5;

// ScaLAPACK's NUMROC with source 0: returns how many of `total` rows `process` holds if blocks of
// `block` rows are distributed round-robin to `processes`.
[[nodiscard]] std::int64_t block_cyclic_count(std::int64_t total, std::int64_t block,
                                              std::int64_t process, std::int64_t processes);

}  // namespace weir::bench::madbench
