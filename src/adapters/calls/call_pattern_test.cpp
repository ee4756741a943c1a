#include "adapters/calls/call_pattern.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace weir::calls {
namespace {

using Lines = std::vector<PatternLine>;

// Appends the calls of lines [begin, end) in the given rounds of the loops around them.
void expand(const Lines& lines, std::size_t begin, std::size_t end,
            std::array<std::int64_t, most_levels> round, std::vector<MadeCall>* calls) {
  for (std::size_t i = begin; i < end; ++i) {
    const PatternLine& line = lines[i];
    for (std::int64_t turn = 0; turn < line.count; ++turn) {
      round[line.level] = turn;
      if (line.kind == CallKind::loop) {
        expand(lines, i + 1, i + 1 + line.length, round, calls);
        continue;
      }
      MadeCall call{.kind = line.kind,
                    .file = line.file,
                    .offset = line.offset,
                    .bytes = line.bytes,
                    .shape = line.shape};
      for (std::size_t level = 0; level < most_levels; ++level) {
        call.offset += round[level] * line.strides[level].offset;
        call.file += round[level] * line.strides[level].file;
      }
      calls->push_back(call);
    }
    round[line.level] = 0;
    i += line.length;
  }
}

class CallPatternTest : public testing::Test {
 protected:
  CallPatternTest() : pattern_(std::make_unique<CallPattern>()) {}

  void add(const MadeCall& call) {
    if (pattern_->is_full()) take(false);
    pattern_->add(call);
    made_.push_back(call);
  }
  void add(CallKind kind, std::int64_t file, std::int64_t offset, std::int64_t bytes) {
    add({.kind = kind, .file = file, .offset = offset, .bytes = bytes, .gap_ns = 10, .call_ns = 3});
  }
  void take(bool all) {
    pattern_->take(all, [&](const PatternLine& line) { lines_.push_back(line); });
  }
  // Checks that the lines stand for exactly the calls that were made, and returns the lines.
  const Lines& finished() {
    take(true);
    std::vector<MadeCall> calls;
    expand(lines_, 0, lines_.size(), {}, &calls);
    EXPECT_EQ(calls.size(), made_.size());
    std::int64_t gaps = 0;
    std::int64_t in_calls = 0;
    for (const PatternLine& line : lines_) {
      gaps += line.first_gap_ns + line.other_gaps_ns;
      in_calls += line.call_ns;
    }
    for (std::size_t i = 0; i < std::min(calls.size(), made_.size()); ++i) {
      gaps -= made_[i].gap_ns;
      in_calls -= made_[i].call_ns;
      EXPECT_EQ(calls[i].kind, made_[i].kind) << i;
      EXPECT_EQ(calls[i].file, made_[i].file) << i;
      EXPECT_EQ(calls[i].offset, made_[i].offset) << i;
      EXPECT_EQ(calls[i].bytes, made_[i].bytes) << i;
      EXPECT_EQ(calls[i].shape, made_[i].shape) << i;
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_EQ(gaps, 0);
    EXPECT_EQ(in_calls, 0);
    return lines_;
  }

  std::unique_ptr<CallPattern> pattern_;
  std::vector<MadeCall> made_;
  Lines lines_;
};

TEST_F(CallPatternTest, CallsAtEqualDistancesAreOneRun) {
  for (int i = 0; i < 1000; ++i) add(CallKind::write, 1, 4096 * i, 512);
  const Lines& lines = finished();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].count, 1000);
  EXPECT_EQ(lines[0].strides[0], (Stride{4096, 0}));
  EXPECT_EQ(lines[0].first_gap_ns, 10);
  EXPECT_EQ(lines[0].other_gaps_ns, 9990);
  EXPECT_EQ(lines[0].call_ns, 3000);
}

TEST_F(CallPatternTest, AnotherShapeBeginsARunAndIsPartOfALoop) {
  for (int i = 0; i < 12; ++i) {
    const std::int64_t shape = i % 4 < 2 ? 1 : 1 + i % 4;
    add({.kind = CallKind::write_all, .file = 1, .offset = 64 * i, .bytes = 8, .shape = shape});
  }
  const Lines& lines = finished();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].kind, CallKind::loop);
  EXPECT_EQ(lines[0].count, 3);
  EXPECT_EQ(lines[1].count, 2);
  EXPECT_EQ(lines[1].shape, 1);
  EXPECT_EQ(lines[3].shape, 4);
}

TEST_F(CallPatternTest, AnotherSizeKindOrDistanceBeginsARun) {
  add(CallKind::write, 1, 0, 8);
  add(CallKind::write, 1, 8, 8);
  add(CallKind::write, 1, 17, 8);
  add(CallKind::write, 1, 25, 9);
  add(CallKind::read, 1, 34, 9);
  EXPECT_EQ(finished().size(), 4U);
}

TEST_F(CallPatternTest, StepsThatOpenANewFileEachAreALoop) {
  for (int step = 0; step < 50; ++step) {
    add(CallKind::open, step, 0, open_writes | open_creates);
    add(CallKind::write, step, 0, 96);
    for (int block = 0; block < 20; ++block) add(CallKind::write, step, 96 + 100 * block, 100);
    add(CallKind::close, step, 0, 0);
  }
  const Lines& lines = finished();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0].kind, CallKind::loop);
  EXPECT_EQ(lines[0].count, 50);
  EXPECT_EQ(lines[0].length, 4U);
  EXPECT_EQ(lines[3].count, 20);
  EXPECT_EQ(lines[3].strides[1], (Stride{0, 1}));
}

TEST_F(CallPatternTest, LoopsAreNestedUpToTheLastLevel) {
  const auto nested = [this](int files, int planes, int rows) {
    for (int file = 0; file < files; ++file) {
      for (int plane = 0; plane < planes; ++plane) {
        for (int row = 0; row < rows; ++row) {
          for (int piece = 0; piece < 3; ++piece) {
            add(CallKind::write, file, 100'000 * plane + 1000 * row + 100 * piece, 7);
          }
        }
        add(CallKind::sync, file, 0, 0);
      }
      add(CallKind::close, file, 0, 0);
    }
  };
  nested(5, 6, 7);
  const Lines& lines = finished();
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0].level, 3U);
  EXPECT_EQ(lines[1].level, 2U);
  EXPECT_EQ(lines[2].level, 1U);
}

TEST_F(CallPatternTest, ALoopInTooManyLoopsIsWrittenOutRoundByRound) {
  for (int outer = 0; outer < 3; ++outer) {
    for (int file = 0; file < 4; ++file) {
      for (int plane = 0; plane < 3; ++plane) {
        for (int row = 0; row < 3; ++row) {
          add(CallKind::write, file, 0, 7);
          add(CallKind::read, file, 0, 7);
        }
        add(CallKind::sync, file, 0, 0);
      }
      add(CallKind::close, file, 0, 0);
    }
    add(CallKind::truncate, 0, 9, 0);
  }
  const Lines& lines = finished();
  EXPECT_EQ(lines.size(), 3U * 8U);
}

TEST_F(CallPatternTest, TheLongestBodyIsFoundAndNoLongerOne) {
  const auto body_of = [this](std::size_t parts) {
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < parts; ++i) {
        add(CallKind::write, 0, 0, static_cast<std::int64_t>(i) + 1);
      }
    }
  };
  body_of(CallPattern::longest_body);
  EXPECT_EQ(finished().size(), CallPattern::longest_body + 1);
  pattern_->clear();
  made_.clear();
  lines_.clear();
  body_of(CallPattern::longest_body + 1);
  EXPECT_EQ(finished().size(), 2 * (CallPattern::longest_body + 1));
}

TEST_F(CallPatternTest, IrregularCallsAreAllKeptInBoundedMemory) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    add(random() % 2 == 0 ? CallKind::read : CallKind::write, static_cast<int>(random() % 3),
        static_cast<std::int64_t>(random() >> 20U), static_cast<std::int64_t>(random() % 5));
  }
  finished();
}

TEST_F(CallPatternTest, EveryDistanceIsKept) {
  const std::int64_t far = std::int64_t{1} << 62U;
  for (int i = 0; i < 3; ++i) {
    add(CallKind::read, 0, 0, 1);
    add(CallKind::read, 1, far, 1);
    add(CallKind::write, 0, far - i, 2);
  }
  finished();
}

}  // namespace
}  // namespace weir::calls
