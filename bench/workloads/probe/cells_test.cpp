#include "workloads/probe/cells.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace weir::bench::probe {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Shape one_host(int ranks, int targets) {
  return {.host_ranks = {ranks},
          .targets = std::vector<TargetShape>(
              static_cast<std::size_t>(targets),
              {.direct = true, .file_bytes = 64 * MiB, .bytes_per_second = 1e9}),
          .largest_file_bytes = 64 * MiB,
          .copy_bytes = 32 * MiB};
}

std::vector<std::string> names(int targets) {
  std::vector<std::string> made;
  made.reserve(static_cast<std::size_t>(targets));
  for (int i = 0; i < targets; ++i) made.push_back("/target" + std::to_string(i));
  return made;
}

std::vector<Cell> cells_of(const std::vector<Cell>& cells, Operation operation) {
  std::vector<Cell> found;
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(found),
               [operation](const Cell& cell) { return cell.operation == operation; });
  return found;
}

TEST(RequestSizes, AreAGeometricGridFrom4KiBTo16MiB) {
  EXPECT_THAT(request_sizes(1),
              ElementsAre(4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB, 4 * MiB, 16 * MiB));
  EXPECT_THAT(request_sizes(2), ElementsAre(4 * KiB, 64 * KiB, MiB, 16 * MiB));
  EXPECT_THAT(request_sizes(4), ElementsAre(4 * KiB, 256 * KiB));
}

TEST(RankCounts, AreOneSomeAndAll) {
  EXPECT_THAT(rank_counts({1}), ElementsAre(1));
  EXPECT_THAT(rank_counts({2}), ElementsAre(1, 2));
  EXPECT_THAT(rank_counts({16}), ElementsAre(1, 4, 16));
  EXPECT_THAT(rank_counts({4, 4, 4}), ElementsAre(1, 3, 12));
  EXPECT_THAT(rank_counts({1, 1}), ElementsAre(1, 2));
}

TEST(PositionOf, DealsRanksOverUnequalHosts) {
  const std::vector<int> host_ranks{3, 1, 2};
  EXPECT_EQ(position_of(host_ranks, 0, 0), 0);
  EXPECT_EQ(position_of(host_ranks, 1, 0), 1);
  EXPECT_EQ(position_of(host_ranks, 2, 0), 2);
  EXPECT_EQ(position_of(host_ranks, 0, 1), 3);
  EXPECT_EQ(position_of(host_ranks, 2, 1), 4);
  EXPECT_EQ(position_of(host_ranks, 0, 2), 5);
}

TEST(FileBytesAt, GrowWithFewerRanksAtWork) {
  Shape shape = one_host(16, 1);
  shape.targets[0].file_bytes = 3 * MiB;
  EXPECT_EQ(file_bytes_at(shape, 0, 0), 48 * MiB);
  EXPECT_EQ(file_bytes_at(shape, 0, 1), 12 * MiB);
  EXPECT_EQ(file_bytes_at(shape, 0, 3), 12 * MiB);
  EXPECT_EQ(file_bytes_at(shape, 0, 4), 3 * MiB);
  EXPECT_EQ(file_bytes_at(shape, 0, 15), 3 * MiB);
  shape.targets[0].file_bytes = 60 * MiB;
  EXPECT_EQ(file_bytes_at(shape, 0, 0), 64 * MiB);
}

TEST(HostPairs, GoAroundTheRingInBothDirections) {
  EXPECT_THAT(host_pairs(1, 32), IsEmpty());
  EXPECT_EQ(host_pairs(2, 32).size(), 2);
  std::set<std::pair<int, int>> pairs;
  for (const HostPair pair : host_pairs(4, 32)) pairs.insert({pair.sender, pair.receiver});
  const std::set<std::pair<int, int>> ring{{0, 1}, {1, 0}, {1, 2}, {2, 1},
                                           {2, 3}, {3, 2}, {3, 0}, {0, 3}};
  EXPECT_EQ(pairs, ring);
}

TEST(HostPairs, AreBoundedAndSpread) {
  const auto pairs = host_pairs(1000, 4);
  EXPECT_EQ(pairs.size(), 8);
  for (const HostPair pair : pairs) {
    EXPECT_NE(pair.sender, pair.receiver);
    EXPECT_EQ(pair.sender % 250, 0);
  }
}

TEST(DistantPairs, CompleteTheRing) {
  for (int hosts = 1; hosts <= 8; ++hosts) {
    std::set<std::pair<int, int>> ring;
    for (const HostPair pair : host_pairs(hosts, 32)) {
      ring.insert(std::minmax(pair.sender, pair.receiver));
    }
    std::set<std::pair<int, int>> all = ring;
    for (const HostPair pair : distant_pairs(hosts, 8)) {
      EXPECT_LT(pair.sender, pair.receiver);
      EXPECT_TRUE(all.insert({pair.sender, pair.receiver}).second) << hosts;
    }
    EXPECT_EQ(all.size(), hosts * (hosts - 1) / 2);
  }
  EXPECT_THAT(distant_pairs(9, 8), IsEmpty());
}

TEST(MakeCells, MeasureEveryTargetOnOneAndOnAllRanks) {
  const auto made = make_cells(one_host(2, 4), names(4));
  EXPECT_THAT(made.warnings, IsEmpty());
  for (int target = 0; target < 4; ++target) {
    for (const auto operation : {Operation::storage_write, Operation::storage_read,
                                 Operation::direct_write, Operation::direct_read}) {
      std::set<std::pair<std::int64_t, int>> seen;
      for (const Cell& cell : cells_of(made.cells, operation)) {
        if (cell.target == target) seen.insert({cell.bytes, cell.ranks});
      }
      EXPECT_EQ(seen, (std::set<std::pair<std::int64_t, int>>{
                          {4 * KiB, 1}, {256 * KiB, 1}, {256 * KiB, 2}}))
          << target;
    }
  }
}

TEST(MakeCells, MakeItemsByOneRankAndByAllApartAndTogether) {
  for (const int targets : {1, 4}) {
    const auto made = make_cells(one_host(2, targets), names(targets));
    std::multiset<std::pair<int, int>> apart;
    for (const Cell& cell : cells_of(made.cells, Operation::files)) {
      apart.insert({cell.target, cell.ranks});
    }
    EXPECT_EQ(apart.size(), 2 * targets);
    EXPECT_TRUE(apart.count({0, 1}) == 1 && apart.count({0, 2}) == 1);
    const auto together = cells_of(made.cells, Operation::shared_files);
    EXPECT_EQ(together.size(), targets);
    EXPECT_EQ(together.front().ranks, 2);
  }
  // A rank lists its own folder; who lists one that all share is not for a probe to say.
  EXPECT_THAT(sample_names(Operation::files), Contains("readdir"));
  EXPECT_THAT(sample_names(Operation::shared_files), Not(Contains("readdir")));
}

TEST(MakeCells, KeepTrialsWithinTheFiles) {
  for (const Cell& cell : make_cells(one_host(2, 1), names(1)).cells) {
    EXPECT_GE(cell.most_operations, 1);
    if (!moves_file(cell.operation)) continue;
    EXPECT_LE(cell.most_operations * cell.bytes, cell.most_bytes);
    EXPECT_LE(cell.most_bytes, 64 * MiB);
  }
}

TEST(MakeCells, LeaveOutWhatAFileIsTooSmallForAndSaySo) {
  Shape shape = one_host(1, 1);
  shape.targets[0].file_bytes = 4 * MiB;
  shape.largest_file_bytes = 4 * MiB;
  const auto made = make_cells(shape, names(1));
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("/target0: requests of 16384 KiB")));
  for (const Cell& cell : made.cells) {
    EXPECT_TRUE(!moves_file(cell.operation) || cell.bytes <= 4 * MiB);
  }
}

TEST(MakeCells, LeaveOutDirectWhereItIsRefused) {
  Shape shape = one_host(2, 2);
  shape.targets[1].direct = false;
  const auto made = make_cells(shape, names(2));
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("/target1: the file system refuses O_DIRECT")));
  for (const Cell& cell : cells_of(made.cells, Operation::direct_write)) EXPECT_EQ(cell.target, 0);
}

TEST(MakeCells, MeasureMessagesInsideAndBetweenHosts) {
  Shape shape = one_host(2, 1);
  EXPECT_EQ(cells_of(make_cells(shape, names(1)).cells, Operation::latency).size(), 1);
  shape.host_ranks = {1, 1, 1, 1};
  const auto made = make_cells(shape, names(1));
  EXPECT_EQ(cells_of(made.cells, Operation::bandwidth).size(), 8);
  EXPECT_EQ(cells_of(made.cells, Operation::latency).size(), 6);  // of every pair of few hosts
  shape.host_ranks.resize(9, 1);
  EXPECT_EQ(cells_of(make_cells(shape, names(1)).cells, Operation::latency).size(), 9);
}

}  // namespace
}  // namespace weir::bench::probe
