// Copies between memory and a file that is a vector: random shapes compared element by element, and
// the calls that are made for them at each limit and one past it.
#include "sections/file_copier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "array/copy_runs.hpp"

namespace weir::storage {
namespace {

using array::CopyRuns;
using array::StridedCopy;
using Bytes = std::vector<std::byte>;

class VectorFiles final : public CopiedFiles {
 public:
  struct Call {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    std::size_t slices = 0;
  };

  Result<bool> read(const StoredRange& range) override {
    add(range);
    if (missing == range.file) return false;
    std::int64_t at = range.offset;
    for (const Slice& slice : range.slices) {
      std::memcpy(slice.data, bytes.data() + at, static_cast<std::size_t>(slice.bytes));
      at += slice.bytes;
    }
    return true;
  }
  Status write(const StoredRange& range) override {
    add(range);
    if (std::cmp_equal(calls.size(), failing_call)) {
      return Error(ErrorCode::corrupt, "this call fails");
    }
    std::int64_t at = range.offset;
    for (const Slice& slice : range.slices) {
      std::memcpy(bytes.data() + at, slice.data, static_cast<std::size_t>(slice.bytes));
      at += slice.bytes;
    }
    return {};
  }
  bool is_cold(std::int64_t /*file*/, std::int64_t offset) override {
    ++asked;
    return offset >= cold_from;
  }

  Bytes bytes;
  std::vector<Call> calls;
  std::int64_t missing = -1;
  std::int64_t failing_call = -1;
  std::int64_t cold_from = INT64_MAX;
  int asked = 0;

 private:
  void add(const StoredRange& range) {
    calls.push_back({range.offset, bytes_of(range.slices), range.slices.size()});
  }
};

Bytes random_bytes(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::byte& one : bytes) one = static_cast<std::byte>(random());
  return bytes;
}

StridedCopy rows(std::int64_t bytes, std::int64_t count, std::int64_t from_stride,
                 std::int64_t to_stride) {
  StridedCopy copy;
  copy.bytes = bytes;
  if (count > 1) copy.levels.push_back({count, from_stride, to_stride});
  return copy;
}

// Moves the copy as the executor should, byte by byte.
void move_bytes(const StridedCopy& to_file, Bytes& memory, Bytes& file, bool reading,
                std::int64_t number) {
  CopyRuns runs(to_file);
  std::int64_t from = 0;
  for (std::int64_t to = 0; runs.next(from, to);) {
    for (std::int64_t at = 0; at < to_file.bytes; ++at) {
      const std::int64_t swapped = at / number * number + number - 1 - at % number;
      std::byte& in_memory = memory[static_cast<std::size_t>(from + at)];
      std::byte& in_file = file[static_cast<std::size_t>(to + swapped)];
      (reading ? in_memory : in_file) = reading ? in_file : in_memory;
    }
  }
}

TEST(FileCopier, MovesAnyCopyThroughAnyBuffer) {
  std::mt19937 random(11);
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const std::int64_t number = std::int64_t{1} << between(0, 3);
    StridedCopy copy;
    copy.bytes = number * (round % 3 == 0 ? between(100, 400) : between(1, 6));
    copy.from_offset = between(0, 20);
    copy.to_offset = between(0, 20);
    std::int64_t in_memory = copy.bytes;
    std::int64_t in_file = copy.bytes;
    std::vector<array::CopyLevel> levels;
    for (std::int64_t left = between(0, 3); left > 0; --left) {
      const std::int64_t hole = between(0, 2) * between(0, 9000);
      levels.push_back({between(2, 5), in_memory + between(0, 9), in_file + hole});
      in_memory = levels.back().count * levels.back().from_stride;
      in_file += (levels.back().count - 1) * levels.back().to_stride;
    }
    std::ranges::reverse(levels);
    for (const array::CopyLevel& level : levels) copy.levels.push_back(level);
    const bool reading = round % 2 == 0;
    VectorFiles files;
    files.bytes = random_bytes(in_file + 40, 1);
    files.cold_from = round % 5 == 0 ? in_file / 2 : INT64_MAX;
    Bytes memory = random_bytes(in_memory + 40, 2);
    Bytes expected_file = files.bytes;
    Bytes expected_memory = memory;
    move_bytes(copy, expected_memory, expected_file, reading, number);
    FileCopier copier(files, {.direction = reading ? Direction::read : Direction::write,
                              .swapped_together = number,
                              .most_bytes = round % 4 == 0 ? 24 : 1 << 16,
                              .keeps_holes = round % 7 == 0});
    if (round % 11 == 0) copier.set_reads_holes(false);
    ASSERT_TRUE(copier.move(3, copy, memory.data()).ok());
    ASSERT_TRUE(copier.end().ok());
    ASSERT_EQ(files.bytes, expected_file) << round;
    ASSERT_EQ(memory, expected_memory) << round;
    // The account is exact: what was asked for, and with the holes all that went over the seam.
    EXPECT_EQ(copier.account().moved, copy.runs() * copy.bytes) << round;
    std::int64_t passed = 0;
    for (const auto& call : files.calls) passed += call.bytes;
    EXPECT_EQ(copier.account().moved + copier.account().holes, passed) << round;
    EXPECT_EQ(copier.account().filled, 0);
  }
}

struct Read {
  std::size_t calls = 0;
  std::int64_t holes = 0;
  int asked = 0;

  friend bool operator==(const Read&, const Read&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Read& read) {
    return out << read.calls << " calls, " << read.holes << " bytes of holes, asked " << read.asked;
  }
};

Read read(const StridedCopy& copy, std::int64_t cold_from, std::int64_t most = 4 << 20) {
  VectorFiles files;
  files.cold_from = cold_from;
  const auto& level = copy.levels[0];
  files.bytes.resize(static_cast<std::size_t>(level.count * level.to_stride + copy.bytes));
  Bytes memory(static_cast<std::size_t>(level.count * level.from_stride + copy.bytes));
  FileCopier copier(files, {.most_bytes = most});
  EXPECT_TRUE(copier.move(0, copy, memory.data()).ok());
  EXPECT_TRUE(copier.end().ok());
  return {files.calls.size(), copier.account().holes, files.asked};
}

TEST(FileCopier, ReadsHolesAsDataSievingSays) {
  constexpr std::int64_t warm = INT64_MAX;
  for (const std::int64_t run : {8, 2048}) {  // through the buffer, and straight
    SCOPED_TRACE(run);
    EXPECT_EQ(read(rows(run, 4, run, run + (8 << 10)), warm), (Read{1, 3 * (8 << 10), 0}));
    // A read of 3 holes is compared with 3 more calls, and one that asks whether the file is cold.
    EXPECT_EQ(read(rows(run, 4, run, run + 10922), warm), (Read{1, 3 * 10922, 0}));
    EXPECT_EQ(read(rows(run, 4, run, run + 10923), warm), (Read{4, 0, 1}));
    EXPECT_EQ(read(rows(run, 4, run, run + 10923), 0), (Read{1, 3 * 10923, 1}));
    EXPECT_EQ(read(rows(run, 4, run, run + (128 << 10)), 0), (Read{1, 3 * (128 << 10), 1}));
    EXPECT_EQ(read(rows(run, 4, run, run + (128 << 10) + 1), 0), (Read{4, 0, 0}));
  }
}

TEST(FileCopier, AsksAgainWhetherTheFileIsColdBehindEachBatch) {
  // 100 rows with holes of 64 KiB; from the middle on they are in no memory.
  const StridedCopy copy = rows(8, 100, 8, 64 << 10);
  const Read half = read(copy, 50 * (64 << 10), 10 * (64 << 10));
  EXPECT_GE(half.asked, 10);
  EXPECT_LE(half.asked, 20);
  EXPECT_GT(half.calls, 50U);
  EXPECT_LT(half.calls, 70U);
}

TEST(FileCopier, WritesNoHole) {
  VectorFiles files;
  files.bytes.assign(100, std::byte{9});
  Bytes memory(32, std::byte{1});
  FileCopier copier(files, {.direction = Direction::write});
  ASSERT_TRUE(copier.move(0, rows(8, 4, 8, 9), memory.data()).ok());
  ASSERT_TRUE(copier.end().ok());
  EXPECT_EQ(files.calls.size(), 4U);
  EXPECT_EQ(files.bytes[8], std::byte{9});
  EXPECT_EQ(files.bytes[9], std::byte{1});
  EXPECT_EQ(copier.account().holes, 0);
  // Rows that are apart in memory only are written by one call.
  files.calls.clear();
  ASSERT_TRUE(copier.move(0, rows(8, 2, 16, 8), memory.data()).ok());
  ASSERT_TRUE(copier.end().ok());
  EXPECT_EQ(files.calls.size(), 1U);
}

// Files that take rows together.
class RowFiles final : public CopiedFiles {
 public:
  Result<bool> read(const StoredRange& /*range*/) override { return true; }
  Status write(const StoredRange& range) override {
    calls.push_back({{range.offset, range.slices.front()}});
    return {};
  }
  Status write_rows(std::int64_t /*file*/, std::span<const PlacedSlice> rows,
                    std::int64_t& bytes) override {
    calls.emplace_back(rows.begin(), rows.end());
    bytes = 0;
    for (const PlacedSlice& row : rows) bytes += row.slice.bytes;
    return {};
  }
  bool is_cold(std::int64_t /*file*/, std::int64_t /*offset*/) override { return false; }

  std::vector<std::vector<PlacedSlice>> calls;
};

TEST(FileCopier, RowsWithHolesBetweenThemAreWrittenTogether) {
  const auto calls = [](const StridedCopy& copy, std::int64_t number = 1) {
    RowFiles files;
    Bytes memory(1 << 20);
    FileCopier copier(files, {.direction = Direction::write, .swapped_together = number});
    EXPECT_TRUE(copier.move(0, copy, memory.data()).ok());
    EXPECT_TRUE(copier.end().ok());
    EXPECT_EQ(copier.account().moved, copy.runs() * copy.bytes);
    return files.calls;
  };
  for (const std::int64_t bytes : {64, 2048}) {  // through the buffer, and straight
    SCOPED_TRACE(bytes);
    for (const std::int64_t number : {1, 8}) {
      const auto near = calls(rows(bytes, 100, bytes, 4096), number);
      ASSERT_EQ(near.size(), 1U);
      ASSERT_EQ(near[0].size(), 100U);
      EXPECT_EQ(near[0][99].offset, 99 * 4096);
      EXPECT_EQ(near[0][99].slice.bytes, bytes);
    }
    // So many end within 4 MiB.
    const auto far = calls(rows(bytes, 5, bytes, 1 << 20));
    ASSERT_EQ(far.size(), 2U);
    EXPECT_EQ(far[0].size(), 4U);
  }
  EXPECT_EQ(calls(rows(8, 16 << 10, 8, 16)).size(), 1U);
  EXPECT_EQ(calls(rows(8, (16 << 10) + 1, 8, 16)).size(), 2U);
  // What is between two holes is one row, wherever it is in memory.
  StridedCopy pairs = rows(16, 100, 64, 128);
  pairs.levels.push_back({2, 32, 16});
  const auto together = calls(pairs);
  ASSERT_EQ(together.size(), 1U);
  ASSERT_EQ(together[0].size(), 100U);
  EXPECT_EQ(together[0][1].offset, 128);
  EXPECT_EQ(together[0][1].slice.bytes, 32);
}

// Rows that follow each other in memory are one span; what is elsewhere in memory continues its
// batch.
TEST(FileCopier, RowsOfOneSpanAndOthersAreWrittenTogether) {
  RowFiles files;
  Bytes memory(1 << 20);
  FileCopier copier(files, {.direction = Direction::write});
  StridedCopy planes = rows(64, 3, 10 * 64, 8192);  // three planes of ten rows
  planes.levels.push_back({10, 64, 128});
  StridedCopy apart = rows(16, 4, 100, 32);
  apart.to_offset = 3 * 8192;
  ASSERT_TRUE(copier.move(0, planes, memory.data()).ok());
  ASSERT_TRUE(copier.move(0, apart, memory.data() + (1 << 19)).ok());
  ASSERT_TRUE(copier.end().ok());
  ASSERT_EQ(files.calls.size(), 1U);
  const auto& found = files.calls.front();
  ASSERT_EQ(found.size(), 34U);
  for (int row = 0; row < 30; ++row) {
    const PlacedSlice& one = found[static_cast<std::size_t>(row)];
    EXPECT_EQ(one.offset, row / 10 * 8192 + row % 10 * 128);
    EXPECT_EQ(one.slice.data, memory.data() + row * 64);
    EXPECT_EQ(one.slice.bytes, 64);
  }
  EXPECT_EQ(found[33].offset, 3 * 8192 + 3 * 32);
  EXPECT_EQ(found[33].slice.bytes, 16);
  EXPECT_EQ(copier.account().moved, 30 * 64 + 4 * 16);
}

TEST(FileCopier, ACallHasAtMostSoManySlices) {
  VectorFiles files;
  const std::int64_t run = FileCopier::straight_from;
  files.bytes.resize(static_cast<std::size_t>(2000 * run));
  Bytes memory(static_cast<std::size_t>(2000 * (run + 1)));
  for (const auto& [rows_moved, calls] : {std::pair(1023, 1U), std::pair(1024, 2U)}) {
    files.calls.clear();
    FileCopier copier(files, {});
    ASSERT_TRUE(copier.move(0, rows(run, rows_moved, run + 1, run), memory.data()).ok());
    ASSERT_TRUE(copier.end().ok());
    ASSERT_EQ(files.calls.size(), calls) << rows_moved;
    for (const auto& call : files.calls) EXPECT_LE(call.slices, FileCopier::most_together);
  }
}

TEST(FileCopier, ShortRunsPassThroughABufferOfBoundedSize) {
  VectorFiles files;
  files.bytes.resize(4096);
  Bytes memory(8192);
  const auto calls = [&](std::int64_t run, std::int64_t count) {
    files.calls.clear();
    FileCopier copier(files, {.most_bytes = 2048});
    EXPECT_TRUE(copier.move(0, rows(run, count, run + 8, run), memory.data()).ok());
    EXPECT_TRUE(copier.end().ok());
    return std::pair(files.calls.size(), files.calls.front().slices);
  };
  using Calls = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(calls(512, 4), Calls(1, 1));
  EXPECT_EQ(calls(512, 5), Calls(2, 1));
  EXPECT_EQ(calls(1023, 2), Calls(1, 1));
  EXPECT_EQ(calls(1024, 2), Calls(1, 2));  // straight
}

TEST(FileCopier, SpansOfSeveralCopiesAreMovedTogether) {
  VectorFiles files;
  files.bytes = random_bytes(40000, 3);
  Bytes memory(64);
  FileCopier copier(files, {});
  const auto move = [&](std::int64_t file, std::int64_t offset) {
    StridedCopy one = rows(8, 1, 0, 0);
    one.to_offset = offset;
    ASSERT_TRUE(copier.move(file, one, memory.data()).ok());
  };
  move(0, 0);
  move(0, 8200);   // behind a hole of 8192 bytes
  move(0, 16401);  // behind one of 8193
  move(1, 16409);  // in another file
  move(1, 16000);  // before the last one
  ASSERT_TRUE(copier.end().ok());
  ASSERT_EQ(files.calls.size(), 4U);
  EXPECT_EQ(files.calls[0].bytes, 8208);
  EXPECT_EQ(copier.account().moved, 40);
  EXPECT_EQ(copier.account().holes, 8192);
}

TEST(FileCopier, AMissingFileGivesTheFillValueAndNoHoles) {
  const Bytes fill = {std::byte{1}, std::byte{2}};
  for (const std::int64_t run : {2, 1024}) {
    VectorFiles files;
    files.missing = 5;
    Bytes memory(static_cast<std::size_t>(3 * run), std::byte{9});
    FileCopier copier(files, {.swapped_together = 2, .fill = fill});
    ASSERT_TRUE(copier.move(5, rows(run, 2, 2 * run, 2 * run), memory.data()).ok());
    ASSERT_TRUE(copier.end().ok());
    EXPECT_EQ(copier.account().moved, 0);
    EXPECT_EQ(copier.account().holes, 0);
    EXPECT_EQ(copier.account().filled, 2 * run);
    EXPECT_EQ(memory[0], std::byte{1});
    EXPECT_EQ(memory[1], std::byte{2});
    EXPECT_EQ(memory[static_cast<std::size_t>(run)], std::byte{9});
    EXPECT_EQ(memory.back(), std::byte{2});
  }
}

TEST(FileCopier, WhatACallThatFailedShouldHaveMovedIsNotCounted) {
  VectorFiles files;
  files.bytes.resize(64);
  files.failing_call = 2;
  Bytes memory(32);
  FileCopier copier(files, {.direction = Direction::write});
  Status moved = copier.move(0, rows(8, 4, 8, 16), memory.data());
  if (moved.ok()) moved = copier.end();
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().message, "this call fails");
  EXPECT_EQ(copier.account().moved, 8);
}

TEST(FileCopier, KeepsHolesForChecksums) {
  VectorFiles files;
  files.bytes.resize(10000);
  Bytes memory(4096);
  FileCopier copier(files, {.keeps_holes = true});
  ASSERT_TRUE(copier.move(0, rows(2048, 2, 2048, 4096), memory.data()).ok());
  ASSERT_TRUE(copier.end().ok());
  ASSERT_EQ(files.calls.size(), 1U);
  EXPECT_EQ(files.calls[0].slices, 1U);
  EXPECT_EQ(files.calls[0].bytes, 6144);
}

}  // namespace
}  // namespace weir::storage
