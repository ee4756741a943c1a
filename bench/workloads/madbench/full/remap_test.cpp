#include "workloads/madbench/full/remap.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::bench::madbench {
namespace {

// A rank's share of the matrix whose element (row, column) is row + 1000 column.
std::vector<double> share_of(const Distribution& part) {
  std::vector<double> share;
  for (std::int64_t column = 0; column < part.columns(); ++column) {
    for (std::int64_t row = 0; row < part.rows(); ++row) {
      share.push_back(
          static_cast<double>(part.global_row(row) + 1000 * part.global_column(column)));
    }
  }
  return share;
}

TEST(Distribution, SharesMakeTheMatrixOnce) {
  std::vector<int> seen(23 * 23, 0);
  for (std::int64_t rank = 0; rank < 9; ++rank) {
    const Distribution part = Distribution::of(23, 4, 3, rank);
    for (std::int64_t column = 0; column < part.columns(); ++column) {
      for (std::int64_t row = 0; row < part.rows(); ++row) {
        ++seen[static_cast<std::size_t>(part.global_row(row) * 23 + part.global_column(column))];
      }
    }
  }
  for (const int times : seen) EXPECT_EQ(times, 1);
}

TEST(RemapPlan, EveryRankHasOneTargetAndEveryElementOnePlace) {
  for (const std::int64_t block : {1, 3, 7, 16}) {
    for (const auto& [side, gang_side] :
         {std::pair{4, 2}, {4, 1}, {2, 1}, {3, 1}, {6, 3}, {2, 2}}) {
      const RemapPlan plan{37, block, side, gang_side};
      for (std::int64_t target = 0; target < gang_side * gang_side; ++target) {
        const std::vector<std::int64_t> sources = plan.sources_of(target);
        EXPECT_EQ(static_cast<std::int64_t>(sources.size()), side * side / (gang_side * gang_side));
        const std::vector<double> expected = share_of(plan.of_gang_rank(target));
        std::vector<double> got(expected.size(), -1.0);
        for (const std::int64_t source : sources) {
          EXPECT_EQ(plan.target_of(source), target);
          const Distribution part = plan.of_rank(source);
          const std::vector<double> share = share_of(part);
          // In two messages, as long shares come.
          const std::int64_t first = part.columns() / 2;
          plan.place(source, 0, first, share.data(), got.data());
          plan.place(source, first, part.columns() - first, share.data() + first * part.rows(),
                     got.data());
        }
        EXPECT_EQ(got, expected) << "block " << block << ", side " << side << " to " << gang_side;
      }
    }
  }
}

}  // namespace
}  // namespace weir::bench::madbench
