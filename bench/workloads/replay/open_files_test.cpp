#include "workloads/replay/open_files.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weir::bench::replay {
namespace {

calls::PatternLine call_of(CallKind kind, std::int64_t file, std::int64_t bytes = 0) {
  calls::PatternLine made;
  made.kind = kind;
  made.count = 1;
  made.file = file;
  made.bytes = bytes;
  return made;
}

constexpr std::int64_t all_write = calls::open_writes | calls::open_together;

std::uint64_t order_of(std::vector<calls::PatternLine> lines) {
  RankRecord record;
  record.lines = std::move(lines);
  record.files = {0, 1};
  return order_together(record);
}

TEST(OrderTogether, PlacesAndOwnCallsMakeNoDifference) {
  const auto one = order_of({call_of(CallKind::open, 0, all_write),
                             call_of(CallKind::write_all, 0, 10), call_of(CallKind::close, 0)});
  const auto other =
      order_of({call_of(CallKind::open, 1, calls::open_writes),
                call_of(CallKind::open, 0, all_write), call_of(CallKind::write, 0, 4),
                call_of(CallKind::read, 1, 4), call_of(CallKind::write_all, 0, 0),
                call_of(CallKind::sync, 1), call_of(CallKind::close, 0)});
  EXPECT_EQ(one, other);
}

TEST(OrderTogether, WhatOthersWouldWaitForMakesADifference) {
  const std::vector<calls::PatternLine> lines{
      call_of(CallKind::open, 0, all_write), call_of(CallKind::open, 1, all_write),
      call_of(CallKind::write_all, 0, 10), call_of(CallKind::write_all, 1, 10)};
  const auto order = order_of(lines);
  EXPECT_EQ(order, order_of(lines));
  auto changed = lines;
  std::swap(changed[2], changed[3]);
  EXPECT_NE(order, order_of(changed));
  changed = lines;
  changed.pop_back();
  EXPECT_NE(order, order_of(changed));
  changed = lines;
  changed.push_back(call_of(CallKind::sync, 0));
  EXPECT_NE(order, order_of(changed));
  changed = lines;
  changed[3].kind = CallKind::read_all;
  EXPECT_NE(order, order_of(changed));
  changed = lines;
  changed.push_back(call_of(CallKind::close, 1));
  EXPECT_NE(order, order_of(changed));
}

// A file that is open only to read is opened once more for a write, and that opening is closed
// first.
TEST(OrderTogether, AnOpeningOfTheRankAloneIsNoneOfAll) {
  const std::int64_t all_read = calls::open_together;
  const auto order = order_of({call_of(CallKind::open, 0, all_read)});
  EXPECT_EQ(order, order_of({call_of(CallKind::open, 0, all_read), call_of(CallKind::write, 0, 1),
                             call_of(CallKind::close, 0)}));
  EXPECT_EQ(order,
            order_of({call_of(CallKind::open, 0, all_read), call_of(CallKind::write_all, 0, 1)}));
  EXPECT_NE(order,
            order_of({call_of(CallKind::open, 0, all_read), call_of(CallKind::read_all, 0, 1)}));
  EXPECT_NE(order, order_of({call_of(CallKind::open, 0, 0)}));
}

}  // namespace
}  // namespace weir::bench::replay
