#include "plan/mpi_library_price.hpp"

#include <gtest/gtest.h>

namespace weir::plan {
namespace {

const PlatformRates& estimates() {
  static const PlatformRates rates;
  return rates;
}
constexpr const char* open_mpi_version = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";
// 1024 rows of 64 bytes, in turn with those of seven other ranks.
constexpr RowsOfRank short_rows_of_rank = {64 << 10, 1 << 10, 8 * (64 << 10)};
constexpr RowsOfRank one_row_of_rank = {64 << 10, 1, 64 << 10};

double seconds_of_writes(MpiIo library, const RowsOfRank& part, int ranks = 8) {
  return seconds_together(library, Direction::write, part, ranks, estimates()).value();
}

double seconds_of_read(MpiIo library, const RowsOfRank& part) {
  return seconds_alone(library, Direction::read, part, estimates()).value();
}

TEST(MpiLibraryPrice, TheImplementationFollowsFromVersionAndComponents) {
  EXPECT_EQ(mpi_io_of(open_mpi_version, ""), MpiIo::ompio);
  EXPECT_EQ(mpi_io_of(open_mpi_version, "ompio"), MpiIo::ompio);
  EXPECT_EQ(mpi_io_of(open_mpi_version, "romio321"), MpiIo::romio);
  EXPECT_EQ(mpi_io_of(open_mpi_version, "^ompio"), MpiIo::romio);
  EXPECT_EQ(mpi_io_of(open_mpi_version, "^romio321"), MpiIo::ompio);
  EXPECT_EQ(mpi_io_of(open_mpi_version, "ompio,romio321"), MpiIo::unknown);
  EXPECT_EQ(mpi_io_of("MPICH Version:\t4.0.2", ""), MpiIo::romio);
  EXPECT_EQ(mpi_io_of("Another MPI 1.0", ""), MpiIo::unknown);
}

TEST(MpiLibraryPrice, RowsOfAllRanksCostTimeInACollectiveCall) {
  // The bytes are the same, and the rows of 8 ranks take 0.25 us each with ROMIO.
  const double rows = seconds_of_writes(MpiIo::romio, short_rows_of_rank) -
                      seconds_of_writes(MpiIo::romio, one_row_of_rank);
  EXPECT_NEAR(rows, 8 * 1023 * 0.25e-6, 1e-9);
  // OMPIO sorts rows by ranks.
  const double of_8 = seconds_of_writes(MpiIo::ompio, short_rows_of_rank) -
                      seconds_of_writes(MpiIo::ompio, one_row_of_rank);
  EXPECT_NEAR(of_8, 8 * 1023 * 3 * 0.3e-6, 1e-9);
  const double of_4 = seconds_of_writes(MpiIo::ompio, short_rows_of_rank, 4) -
                      seconds_of_writes(MpiIo::ompio, one_row_of_rank, 4);
  EXPECT_NEAR(of_4, 4 * 1023 * 2 * 0.3e-6, 1e-9);
}

TEST(MpiLibraryPrice, TheMeanOverRanksWithUnequalPartsIsThatOfAllBytes) {
  const RowsOfRank none;
  const RowsOfRank all = {2 * short_rows_of_rank.bytes, 2 * short_rows_of_rank.rows,
                          short_rows_of_rank.span};
  EXPECT_NEAR((seconds_of_writes(MpiIo::romio, none) + seconds_of_writes(MpiIo::romio, all)) / 2,
              seconds_of_writes(MpiIo::romio, short_rows_of_rank), 1e-12);
}

TEST(MpiLibraryPrice, APlatformWithFasterFilesHasALowerPrice) {
  PlatformRates fast;
  fast.write.node_bytes_per_second *= 10;
  const double slow_files = seconds_of_writes(MpiIo::romio, one_row_of_rank);
  const double fast_files =
      seconds_together(MpiIo::romio, Direction::write, one_row_of_rank, 8, fast).value();
  EXPECT_NEAR(slow_files - fast_files,
              0.9 * 8 * one_row_of_rank.bytes / estimates().write.node_bytes_per_second, 1e-12);
}

TEST(MpiLibraryPrice, ROMIOMovesWhatLiesBetweenRows) {
  RowsOfRank sparse = short_rows_of_rank;
  sparse.span *= 2;
  EXPECT_NEAR(
      seconds_of_read(MpiIo::romio, sparse) - seconds_of_read(MpiIo::romio, short_rows_of_rank),
      short_rows_of_rank.span / 8.192e9, 1e-9);
  // A write reads and writes them, and waits for locks.
  const double write =
      seconds_alone(MpiIo::romio, Direction::write, short_rows_of_rank, estimates()).value();
  EXPECT_GT(write, 2 * seconds_of_read(MpiIo::romio, short_rows_of_rank));
}

TEST(MpiLibraryPrice, OMPIOReadsAlongShortHolesOnly) {
  // 448 bytes lie between rows: one read.
  EXPECT_LT(seconds_of_read(MpiIo::ompio, short_rows_of_rank), 100e-6);
  // 4096 bytes and more lie between them: a call for each row.
  RowsOfRank sparse = short_rows_of_rank;
  sparse.span = sparse.rows * (64 + 4100);
  EXPECT_GT(seconds_of_read(MpiIo::ompio, sparse), 1024 * 1e-6);
  EXPECT_LT(seconds_of_read(MpiIo::ompio, sparse), 1100e-6);
}

TEST(MpiLibraryPrice, WhatIsNotKnownHasNoPrice) {
  EXPECT_FALSE(seconds_alone(MpiIo::ompio, Direction::write, short_rows_of_rank, estimates()));
  EXPECT_FALSE(seconds_alone(MpiIo::unknown, Direction::read, short_rows_of_rank, estimates()));
  EXPECT_FALSE(
      seconds_together(MpiIo::unknown, Direction::read, short_rows_of_rank, 8, estimates()));
  // Each of two ranks writes its rows by itself.
  EXPECT_FALSE(
      seconds_together(MpiIo::ompio, Direction::write, short_rows_of_rank, 2, estimates()));
  EXPECT_EQ(seconds_together(MpiIo::ompio, Direction::read, short_rows_of_rank, 2, estimates()),
            seconds_alone(MpiIo::ompio, Direction::read, short_rows_of_rank, estimates()));
}

TEST(MpiLibraryPrice, BlocksOfEachRankTakeTheirOwnCallsAndLittleMore) {
  EXPECT_NEAR(more_seconds_of_blocks(MpiIo::romio, 8).value(), 64e-6, 1e-12);
  EXPECT_EQ(more_seconds_of_blocks(MpiIo::ompio, 2), 0.0);
  EXPECT_FALSE(more_seconds_of_blocks(MpiIo::ompio, 3));
  EXPECT_FALSE(more_seconds_of_blocks(MpiIo::unknown, 1));
  EXPECT_EQ(more_seconds_of_block(MpiIo::romio, Direction::write, false), 0);
  EXPECT_GT(more_seconds_of_block(MpiIo::romio, Direction::write, true), 1e-6);
}

}  // namespace
}  // namespace weir::plan
