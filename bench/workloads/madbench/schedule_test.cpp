#include "workloads/madbench/schedule.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::bench::madbench {
namespace {

// The order in SYNC mode: writes happen where they begin, reads where they are waited for.
std::string in_sync_order(Function function, std::int64_t bins, std::int64_t gangs) {
  std::string text;
  for (const Step& step : schedule_of(function, bins, gangs)) {
    const char* name = step.action == Action::wait_read     ? "R"
                       : step.action == Action::remap       ? "m"
                       : step.action == Action::compute     ? "c"
                       : step.action == Action::begin_write ? "W"
                                                            : nullptr;
    if (name != nullptr) text += std::string(name) + std::to_string(step.matrix) + " ";
  }
  return text;
}

TEST(Schedule, SWritesEachMatrixAfterItsComputation) {
  EXPECT_EQ(in_sync_order(Function::S, 3, 1), "c0 W0 c1 W1 c2 W2 ");
}

// Figure 3 of Borrill et al.: two reads before the first write, two writes after the last read.
TEST(Schedule, WReadsOneAhead) {
  EXPECT_EQ(in_sync_order(Function::W, 4, 1), "R0 c0 R1 W0 c1 R2 W1 c2 R3 W2 c3 W3 ");
  EXPECT_EQ(in_sync_order(Function::W, 2, 1), "R0 c0 R1 W0 c1 W1 ");
  EXPECT_EQ(in_sync_order(Function::W, 1, 1), "R0 c0 W0 ");
}

TEST(Schedule, WReadsAndRemapsOneMatrixPerGang) {
  EXPECT_EQ(in_sync_order(Function::W, 8, 4),
            "R0 m0 R1 m1 R2 m2 R3 m3 c0 R4 m4 R5 m5 R6 m6 R7 m7 W0 c1 W1 ");
}

TEST(Schedule, CReadsEachResultOnce) {
  EXPECT_EQ(in_sync_order(Function::C, 3, 1), "R0 c0 R1 c1 R2 c2 ");
  EXPECT_EQ(in_sync_order(Function::C, 8, 4), "R0 c0 R1 c1 ");
}

TEST(Schedule, TransfersBeginOnceEndOnceAndNeverBothUseABuffer) {
  for (const Function function : {Function::S, Function::W, Function::C}) {
    for (const std::int64_t bins : {4, 8, 12}) {
      for (const std::int64_t gangs : {1, 4}) {
        std::int64_t reading = -1;
        std::int64_t writing = -1;
        std::int64_t reads = 0;
        std::int64_t writes = 0;
        for (const Step& step : schedule_of(function, bins, gangs)) {
          switch (step.action) {
            case Action::begin_read:
              EXPECT_EQ(reading, -1);
              EXPECT_EQ(step.matrix, reads);
              reading = step.matrix;
              break;
            case Action::wait_read:
              EXPECT_EQ(step.matrix, reading);
              // The payload is checked now: nothing else may be in flight.
              EXPECT_EQ(writing, -1);
              reading = -1;
              ++reads;
              break;
            case Action::begin_write:
              // The payload is generated now: nothing else may be in flight.
              EXPECT_EQ(writing, -1);
              EXPECT_EQ(reading, -1);
              EXPECT_EQ(step.matrix, writes);
              writing = step.matrix;
              break;
            case Action::wait_write:
              EXPECT_EQ(step.matrix, writing);
              writing = -1;
              ++writes;
              break;
            case Action::compute:
            case Action::remap:
              break;
          }
        }
        EXPECT_EQ(reading, -1);
        EXPECT_EQ(writing, -1);
        const std::int64_t units = bins / gangs;
        EXPECT_EQ(reads, function == Function::S ? 0 : function == Function::W ? bins : units);
        EXPECT_EQ(writes, function == Function::S ? bins : function == Function::W ? units : 0);
      }
    }
  }
}

TEST(FullSchedule, CReadsTheResultsOfEveryPairAndAlternatesByTurn) {
  std::string text;
  std::int64_t begun = 0;
  for (const Step& step : full_schedule_of(Function::C, 8, 2)) {
    if (step.action == Action::begin_read) {
      EXPECT_EQ(step.turn, begun++);
    }
    if (step.action == Action::wait_read) text += "R" + std::to_string(step.matrix) + " ";
    if (step.action == Action::compute) text += "c" + std::to_string(step.turn) + " ";
  }
  EXPECT_EQ(text, "R0 c0 R1 c1 R2 c2 R3 c3 R1 c4 R2 c5 R3 c6 R2 c7 R3 c8 R3 c9 ");
}

TEST(FullSchedule, PairsMeetOnceAndColumnsBegin) {
  const std::vector<Pair> pairs = pairs_of(4);
  ASSERT_EQ(pairs.size(), 10U);
  std::vector<int> seen(16, 0);
  std::int64_t column = -1;
  for (const Pair& pair : pairs) {
    if (pair.column != column) {
      EXPECT_EQ(pair.row, pair.column);  // where its transpose is made
    }
    column = pair.column;
    EXPECT_LE(pair.column, pair.row);
    ++seen[static_cast<std::size_t>(pair.column * 4 + pair.row)];
  }
  for (const int times : seen) EXPECT_LE(times, 1);
}

TEST(FullSchedule, DComputesAndTheOthersAreThoseOfIoMode) {
  EXPECT_EQ(full_schedule_of(Function::D, 8, 4), (std::vector<Step>{{Action::compute, 0}}));
  for (const Function function : {Function::S, Function::W}) {
    EXPECT_EQ(full_schedule_of(function, 8, 4), schedule_of(function, 8, 4));
  }
}

}  // namespace
}  // namespace weir::bench::madbench
