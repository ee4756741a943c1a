#include "workloads/madbench/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/checked.hpp"

namespace weir::bench::madbench {
namespace {

constexpr std::int64_t bytes_per_number = 8;

Error too_large(const char* what) {
  return invalid_argument(
      fmt::format("madbench: {} exceeds 2^63 bytes: use fewer pixels or bins", what));
}

std::int64_t share(const Size& size, std::int64_t ranks, std::int64_t rank) {
  const std::int64_t side = *exact_square_root(ranks);
  const std::int64_t row = rank % side;  // ranks are numbered down the columns of the grid
  const std::int64_t column = rank / side;
  return block_cyclic_count(size.no_pix, size.sblocksize, row, side) *
         block_cyclic_count(size.no_pix, size.sblocksize, column, side) * bytes_per_number;
}

}  // namespace

std::int64_t block_cyclic_count(std::int64_t total, std::int64_t block, std::int64_t process,
                                std::int64_t processes) {
  const std::int64_t whole_blocks = total / block;
  const std::int64_t extra = whole_blocks % processes;
  std::int64_t count = (whole_blocks / processes) * block;
  if (process < extra) {
    count += block;
  } else if (process == extra) {
    count += total % block;
  }
  return count;
}

Result<Layout> Layout::create(const Size& size, FileType file_type) {
  Layout layout;
  layout.size_ = size;
  layout.file_type_ = file_type;
  const std::int64_t level_1 = layout.largest_share_bytes(GangLevel::all_ranks);
  const std::int64_t level_2 = layout.largest_share_bytes(GangLevel::gang);
  const std::int64_t needed = std::max(level_1, (level_2 + size.no_gang - 1) / size.no_gang);
  // The size is rounded up to whole doubles; fblocksize is also a multiple of a double.
  const std::int64_t needed_numbers = (needed + bytes_per_number - 1) / bytes_per_number;
  const auto slot = checked_round_up(needed_numbers * bytes_per_number, size.fblocksize);
  if (!slot) return too_large("a matrix share rounded up to FBLOCKSIZE");
  layout.slot_bytes_ = *slot;
  const auto region = checked_multiply(*slot, size.no_bin);
  const auto disk = region ? checked_multiply(*region, size.no_pe) : std::nullopt;
  if (!disk) return too_large("the disk space of all matrices");
  layout.disk_bytes_ = *disk;
  const auto memory = checked_multiply(std::max(level_1, level_2), matrices_in_memory);
  if (!memory || !checked_multiply(*memory, size.no_pe)) return too_large("the memory of a run");
  layout.memory_bytes_per_rank_ = *memory;
  return layout;
}

std::int64_t Layout::share_bytes(GangLevel level, std::int64_t rank) const {
  if (level == GangLevel::all_ranks) return share(size_, size_.no_pe, rank);
  return share(size_, ranks_per_gang(), rank % ranks_per_gang());
}

std::int64_t Layout::largest_share_bytes(GangLevel level) const {
  // Process 0 of a block-cyclic distribution never has less than another process: it is the first
  // to get an extra whole block and, if there is none, it gets the short last block.
  return share_bytes(level, 0);
}

std::int64_t Layout::matrices(GangLevel level) const {
  return level == GangLevel::all_ranks ? size_.no_bin : size_.no_bin / size_.no_gang;
}

Extent Layout::extent(GangLevel level, std::int64_t rank, std::int64_t index) const {
  const std::int64_t slots_each = level == GangLevel::all_ranks ? 1 : size_.no_gang;
  return {region(rank).offset + index * slots_each * slot_bytes_, share_bytes(level, rank)};
}

Extent Layout::region(std::int64_t rank) const {
  const std::int64_t bytes = size_.no_bin * slot_bytes_;
  return {file_type_ == FileType::shared ? rank * bytes : 0, bytes};
}

}  // namespace weir::bench::madbench
