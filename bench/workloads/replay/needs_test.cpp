#include "workloads/replay/needs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "workloads/replay/execute.hpp"

namespace weir::bench::replay {
namespace {

using calls::PatternLine;
using testing::ElementsAre;
using testing::Pair;

PatternLine line(CallKind kind, std::int64_t offset, std::int64_t bytes, std::int64_t count = 1,
                 std::int64_t stride = 0) {
  PatternLine made;
  made.kind = kind;
  made.offset = offset;
  made.bytes = bytes;
  made.count = count;
  made.strides[0].offset = stride;
  return made;
}

PatternLine open(std::int64_t flags) { return line(CallKind::open, 0, flags); }

constexpr std::int64_t to_make = calls::open_writes | calls::open_creates;

FileNeeds needs_of_file(std::vector<PatternLine> lines, std::int64_t users = 1) {
  const RankRecord record{std::move(lines), {0}};
  const std::vector<const RankRecord*> records{&record};
  const std::vector<FileFacts> files{{.users = users, .end = 1000}};
  auto needs = needs_of(records, files);
  EXPECT_TRUE(needs);
  return std::move(needs.value()[0]);
}

TEST(Needs, WhatIsReadAndNotWrittenBeforeIsPrepared) {
  const FileNeeds file =
      needs_of_file({open(to_make), line(CallKind::read, 90, 20), line(CallKind::write, 0, 100),
                     line(CallKind::read, 50, 100), line(CallKind::write, 100, 100)});
  EXPECT_THAT(file.prepared.ranges(), ElementsAre(Pair(90, 150)));
  EXPECT_THAT(file.written.ranges(), ElementsAre(Pair(0, 200)));
  EXPECT_FALSE(file.exists);
}

TEST(Needs, AFileThatIsOnlyReadMustExistUnlessTheRankMadeIt) {
  EXPECT_TRUE(needs_of_file({open(0)}).exists);
  EXPECT_FALSE(needs_of_file({open(to_make), open(0)}).exists);
  EXPECT_FALSE(needs_of_file({open(calls::open_writes)}).exists);
}

TEST(Needs, TruncatingRemovesWhatOneRankWroteToItsOwnFile) {
  const std::vector<PatternLine> lines{open(to_make), line(CallKind::write, 0, 100),
                                       line(CallKind::truncate, 40, 0)};
  EXPECT_THAT(needs_of_file(lines).written.ranges(), ElementsAre(Pair(0, 40)));
  EXPECT_THAT(needs_of_file(lines, 2).written.ranges(), ElementsAre(Pair(0, 100)));
  const std::vector<PatternLine> anew{open(to_make), line(CallKind::write, 0, 100),
                                      open(to_make | calls::open_truncates),
                                      line(CallKind::write, 50, 10)};
  EXPECT_THAT(needs_of_file(anew).written.ranges(), ElementsAre(Pair(50, 60)));
}

TEST(Needs, FilesAreNotMadeShorterThanOthersNeedThem) {
  const FileFacts own{.users = 1, .end = 1000};
  const FileFacts shared{.users = 2, .end = 1000};
  EXPECT_EQ(replayed_length(40, own, false), 40);
  EXPECT_EQ(replayed_length(40, own, true), 1000);
  EXPECT_EQ(replayed_length(40, shared, false), 1000);
  EXPECT_EQ(replayed_length(4000, shared, true), 4000);
}

TEST(Needs, TheMostRangesAreVerifiedAndNoMore) {
  const auto ranges = [](std::int64_t count) {
    const RankRecord record{{line(CallKind::write, 0, 1, count, 2)}, {0}};
    const std::vector<const RankRecord*> records{&record};
    const std::vector<FileFacts> files{{.users = 1, .end = 2 * count}};
    return needs_of(records, files).ok();
  };
  EXPECT_TRUE(ranges(most_ranges));
  EXPECT_FALSE(ranges(most_ranges + 1));
}

TEST(Needs, RecordedRanksAreDealtToTheRanksAtHand) {
  EXPECT_THAT(part_of(1, 4, 4).recorded_ranks, ElementsAre(1));
  EXPECT_THAT(part_of(1, 2, 5).recorded_ranks, ElementsAre(1, 3));
  EXPECT_THAT(part_of(0, 2, 5).recorded_ranks, ElementsAre(0, 2, 4));
  const Part part = part_of(7, 8, 3);
  EXPECT_THAT(part.recorded_ranks, ElementsAre(1));
  EXPECT_EQ(part.copy, 2);
}

TEST(Needs, BlocksThatJoinRangesAreAllTaken) {
  const auto pair = array::BytePattern(0, 4).repeated(3, 10);
  const auto shapes = std::make_shared<Shapes>(Shapes{{{*pair}, 12, 24, 3}});
  std::vector<PatternLine> lines{open(to_make)};
  for (const std::int64_t offset : {100, 104, 96}) {
    lines.push_back(line(CallKind::write, offset, 12));
    lines.back().shape = 1;
  }
  lines.insert(lines.begin() + 1, line(CallKind::write, 108, 2));
  const RankRecord record{lines, {0}, shapes};
  const std::vector<const RankRecord*> records{&record};
  const std::vector<FileFacts> files{{.users = 1, .end = 1000}};
  const auto needs = needs_of(records, files);
  ASSERT_TRUE(needs);
  EXPECT_THAT(needs.value().at(0).written.ranges(), ElementsAre(Pair(96, 128)));
}

TEST(Needs, BlocksOfACallAreItsBytes) {
  const auto pair = array::BytePattern(0, 4).repeated(2, 10);
  const auto shapes = std::make_shared<Shapes>(Shapes{{{*pair}, 8, 14, 2}});
  PatternLine written = line(CallKind::write_all, 100, 8);
  written.shape = 1;
  PatternLine read = line(CallKind::read_all, 102, 8);
  read.shape = 1;
  const RankRecord record{{open(to_make), written, read}, {0}, shapes};
  const std::vector<const RankRecord*> records{&record};
  const std::vector<FileFacts> files{{.users = 2, .end = 1000}};
  const auto needs = needs_of(records, files);
  ASSERT_TRUE(needs);
  EXPECT_THAT(needs.value().at(0).written.ranges(), ElementsAre(Pair(100, 104), Pair(110, 114)));
  EXPECT_THAT(needs.value().at(0).prepared.ranges(), ElementsAre(Pair(104, 106), Pair(114, 116)));
}

}  // namespace
}  // namespace weir::bench::replay
