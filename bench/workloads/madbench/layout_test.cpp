#include "workloads/madbench/layout.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::bench::madbench {
namespace {

Size size_for(std::int64_t ranks, std::int64_t pixels, std::int64_t bins, std::int64_t gangs) {
  return {.no_pe = ranks,
          .no_pix = pixels,
          .no_bin = bins,
          .no_gang = gangs,
          .sblocksize = 32,
          .fblocksize = 4096,
          .rmod = 1,
          .wmod = 1};
}

// Distributes the rows one by one, as the definition of the distribution says.
std::int64_t distributed_by_hand(std::int64_t total, std::int64_t block, std::int64_t process,
                                 std::int64_t processes) {
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < total; ++row) {
    if (row / block % processes == process) ++count;
  }
  return count;
}

TEST(BlockCyclic, CountsWhatAssigningByHandGives) {
  for (const std::int64_t total : {1, 5, 31, 32, 33, 64, 100, 257}) {
    for (const std::int64_t block : {1, 3, 32}) {
      for (const std::int64_t processes : {1, 2, 3, 4}) {
        for (std::int64_t process = 0; process < processes; ++process) {
          EXPECT_EQ(block_cyclic_count(total, block, process, processes),
                    distributed_by_hand(total, block, process, processes))
              << total << " rows, block " << block << ", process " << process << " of "
              << processes;
        }
      }
    }
  }
}

TEST(Layout, SharesOfAllRanksMakeTheMatrix) {
  const Size size = size_for(16, 1000, 8, 4);
  const Layout layout = Layout::create(size, FileType::unique).value();
  std::int64_t all = 0;
  for (std::int64_t rank = 0; rank < 16; ++rank) {
    all += layout.share_bytes(GangLevel::all_ranks, rank);
    EXPECT_LE(layout.share_bytes(GangLevel::all_ranks, rank),
              layout.largest_share_bytes(GangLevel::all_ranks));
  }
  EXPECT_EQ(all, 1000 * 1000 * 8);
  std::int64_t gang = 0;
  for (std::int64_t rank = 4; rank < 8; ++rank) gang += layout.share_bytes(GangLevel::gang, rank);
  EXPECT_EQ(gang, 1000 * 1000 * 8);
}

TEST(Layout, PlacesNeverOverlapAndStartAtFileBlocks) {
  for (const std::int64_t gangs : {1, 4}) {
    for (const GangLevel level : {GangLevel::all_ranks, GangLevel::gang}) {
      const Size size = size_for(16, 300, 8, gangs);
      const Layout layout = Layout::create(size, FileType::shared).value();
      std::int64_t end = 0;
      for (std::int64_t rank = 0; rank < 16; ++rank) {
        for (std::int64_t index = 0; index < layout.matrices(level); ++index) {
          const Extent extent = layout.extent(level, rank, index);
          EXPECT_EQ(extent.offset % size.fblocksize, 0);
          EXPECT_GE(extent.offset, end);
          end = extent.offset + extent.bytes;
          EXPECT_LE(end, layout.region(rank).offset + layout.region(rank).bytes);
        }
      }
      EXPECT_LE(end, layout.disk_bytes());
    }
  }
}

TEST(Layout, ResultsOfWCoverTheMatricesAlreadyConsumed) {
  const Layout layout = Layout::create(size_for(16, 300, 8, 4), FileType::unique).value();
  for (std::int64_t result = 0; result < 2; ++result) {
    EXPECT_EQ(layout.extent(GangLevel::gang, 5, result).offset,
              layout.extent(GangLevel::all_ranks, 5, result * 4).offset);
  }
}

TEST(Layout, UniqueFilesStartAtZeroAndSharedOnesAtTheRanksRegion) {
  const Size size = size_for(4, 300, 8, 1);
  EXPECT_EQ(
      Layout::create(size, FileType::unique).value().extent(GangLevel::all_ranks, 3, 0).offset, 0);
  const Layout shared = Layout::create(size, FileType::shared).value();
  EXPECT_EQ(shared.extent(GangLevel::all_ranks, 3, 2).offset,
            3 * 8 * shared.slot_bytes() + 2 * shared.slot_bytes());
}

// Table 1 of Borrill et al. (GB there are 2^30 bytes).
TEST(Layout, NeedsTheMemoryAndDiskOfThePapersTable) {
  struct Row {
    std::int64_t ranks, pixels, memory_gib, disk_gib;
  };
  constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
  for (const Row& row : std::vector<Row>{{16, 25000, 23, 37},
                                         {64, 50000, 93, 149},
                                         {256, 100000, 373, 596},
                                         {1024, 200000, 1490, 2381}}) {
    Size size = size_for(row.ranks, row.pixels, 8, 1);
    size.fblocksize = 1048576;
    const Layout layout = Layout::create(size, FileType::unique).value();
    const double memory =
        static_cast<double>(layout.memory_bytes_per_rank() * row.ranks) / gibibyte;
    const double disk = static_cast<double>(layout.disk_bytes()) / gibibyte;
    // The largest share and the rounding to file blocks add a little to the paper's figure.
    EXPECT_NEAR(memory, static_cast<double>(row.memory_gib), 0.02 * memory) << row.ranks;
    EXPECT_NEAR(disk, static_cast<double>(row.disk_gib), 0.02 * disk) << row.ranks;
  }
}

TEST(Layout, RefusesSizesBeyond63Bits) {
  Size size = size_for(1, std::int64_t{1} << 29, std::int64_t{1} << 20, 1);
  EXPECT_FALSE(Layout::create(size, FileType::unique).ok());
  size = size_for(4, 1000, 8, 1);
  size.fblocksize = std::int64_t{1} << 40;
  size.no_bin = std::int64_t{1} << 30;
  EXPECT_FALSE(Layout::create(size, FileType::unique).ok());
}

}  // namespace
}  // namespace weir::bench::madbench
