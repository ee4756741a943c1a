#include "workloads/stream/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace weir::bench::stream {
namespace {

constexpr Pattern patterns[] = {Pattern::segmented, Pattern::interleaved, Pattern::strided,
                                Pattern::random};

std::vector<Layout> layouts() {
  std::vector<Layout> all;
  for (const Pattern pattern : patterns) {
    for (const bool file_per_rank : {false, true}) {
      for (const std::int64_t ranks : {1, 2, 4, 7}) {
        for (const std::int64_t segments : {1, 3}) {
          for (const std::int64_t transfers : {1, 5, 16}) {
            for (const std::int64_t stride : {1, 3, 100}) {
              all.push_back({.ranks = ranks,
                             .block_bytes = transfers * 24,
                             .transfer_bytes = 24,
                             .segments = segments,
                             .pattern = pattern,
                             .file_per_rank = file_per_rank,
                             .stride = stride});
            }
          }
        }
      }
    }
  }
  return all;
}

TEST(StreamLayout, EveryByteBelongsToExactlyOneTransfer) {
  for (const Layout& layout : layouts()) {
    ASSERT_TRUE(layout.check());
    std::vector<int> owners(static_cast<std::size_t>(layout.file_bytes()));
    const std::int64_t files = layout.file_per_rank ? layout.ranks : 1;
    for (std::int64_t file = 0; file < files; ++file) {
      std::fill(owners.begin(), owners.end(), 0);
      for (std::int64_t rank = 0; rank < layout.ranks; ++rank) {
        if (layout.file_per_rank && rank != file) continue;
        for (std::int64_t index = 0; index < layout.operations_per_rank(); ++index) {
          const std::int64_t offset = layout.offset(rank, index);
          ASSERT_EQ(offset % layout.transfer_bytes, 0);
          ASSERT_LE(offset + layout.transfer_bytes, layout.file_bytes());
          for (std::int64_t i = 0; i < layout.transfer_bytes; ++i) {
            ++owners[static_cast<std::size_t>(offset + i)];
          }
        }
      }
      EXPECT_TRUE(std::all_of(owners.begin(), owners.end(), [](int n) { return n == 1; }))
          << "pattern " << static_cast<int>(layout.pattern) << ", ranks " << layout.ranks;
    }
  }
}

TEST(StreamLayout, EveryTransferIsVisitedOnceInAnyOrder) {
  for (const Layout& layout : layouts()) {
    const VisitOrder order(layout, 17, layout.ranks - 1);
    std::set<std::int64_t> seen;
    for (std::int64_t position = 0; position < layout.operations_per_rank(); ++position) {
      const std::int64_t index = order.index(position);
      EXPECT_GE(index, 0);
      EXPECT_LT(index, layout.operations_per_rank());
      seen.insert(index);
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), layout.operations_per_rank())
        << "pattern " << static_cast<int>(layout.pattern) << ", stride " << layout.stride;
  }
}

TEST(StreamLayout, HasIorsPlacesInASharedFile) {
  const Layout layout{.ranks = 3, .block_bytes = 64, .transfer_bytes = 32, .segments = 2};
  EXPECT_EQ(layout.offset(0, 0), 0);
  EXPECT_EQ(layout.offset(0, 1), 32);
  EXPECT_EQ(layout.offset(1, 0), 64);
  EXPECT_EQ(layout.offset(0, 2), 3 * 64);
  EXPECT_EQ(layout.offset(2, 3), 3 * 64 + 2 * 64 + 32);
  Layout turns = layout;
  turns.pattern = Pattern::interleaved;
  EXPECT_EQ(turns.offset(1, 0), 32);
  EXPECT_EQ(turns.offset(0, 1), 3 * 32);
}

TEST(StreamLayout, StridedVisitsEveryStridethFirst) {
  const Layout layout{
      .block_bytes = 7 * 8, .transfer_bytes = 8, .pattern = Pattern::strided, .stride = 3};
  const VisitOrder order(layout, 0, 0);
  std::vector<std::int64_t> visited(7);
  for (std::size_t position = 0; position < 7; ++position) {
    visited[position] = order.index(static_cast<std::int64_t>(position));
  }
  EXPECT_EQ(visited, (std::vector<std::int64_t>{0, 3, 6, 1, 4, 2, 5}));
}

TEST(StreamLayout, ARandomOrderIsTheSameForWhoeverHandlesTheData) {
  const Layout layout{
      .ranks = 2, .block_bytes = 800, .transfer_bytes = 8, .pattern = Pattern::random};
  const VisitOrder first(layout, 5, 1);
  const VisitOrder again(layout, 5, 1);
  const VisitOrder other(layout, 5, 0);
  int same = 0;
  int in_place = 0;
  for (std::int64_t position = 0; position < 100; ++position) {
    EXPECT_EQ(first.index(position), again.index(position));
    same += first.index(position) == other.index(position) ? 1 : 0;
    in_place += first.index(position) == position ? 1 : 0;
  }
  EXPECT_LT(same, 20);
  EXPECT_LT(in_place, 20);
}

TEST(StreamLayout, EveryRanksDataAreReadOnceWhateverTheReordering) {
  for (const std::int64_t ranks : {1, 2, 5, 64}) {
    for (const Reorder reorder : {Reorder::none, Reorder::constant, Reorder::random}) {
      const auto owners = owners_to_read(reorder, ranks, 3, 11);
      const std::set<std::int32_t> seen(owners.begin(), owners.end());
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), ranks);
      for (std::int64_t rank = 0; rank < ranks && ranks > 1; ++rank) {
        const std::int32_t owner = owners[static_cast<std::size_t>(rank)];
        if (reorder == Reorder::random) {
          EXPECT_NE(owner, rank);
        } else {
          EXPECT_EQ(owner, reorder == Reorder::none ? rank : (rank + 3) % ranks);
        }
      }
    }
  }
}

TEST(StreamLayout, RefusesWhatCannotBe) {
  const Layout good{.ranks = 4, .block_bytes = 64, .transfer_bytes = 32, .segments = 2};
  EXPECT_TRUE(good.check());
  const auto said = [](const Layout& layout) { return layout.check().error().message; };
  Layout bad = good;
  bad.transfer_bytes = 12;
  EXPECT_NE(said(bad).find("multiple of 8"), std::string::npos);
  bad = good;
  bad.block_bytes = 40;
  EXPECT_NE(said(bad).find("block 40, transfer 32"), std::string::npos);
  bad = good;
  bad.segments = std::int64_t{1} << 60;
  EXPECT_NE(said(bad).find("2^63"), std::string::npos);
  bad = good;
  bad.segments = 0;
  EXPECT_FALSE(bad.check());
}

}  // namespace
}  // namespace weir::bench::stream
