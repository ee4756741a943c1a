#include "workloads/madbench/exchanges.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "workloads/madbench/schedule.hpp"

namespace weir::bench::madbench {
namespace {

Event event_of(Function function, Operation operation, std::int32_t bin, std::int64_t start_ns,
               std::int64_t end_ns, std::int64_t bytes) {
  return {.function = static_cast<std::int8_t>(function),
          .operation = operation,
          .bin = bin,
          .start_ns = start_ns,
          .end_ns = end_ns,
          .bytes = bytes};
}

void expect_amount(const Amount& amount, std::int64_t bytes, std::int64_t ns) {
  EXPECT_EQ(amount.bytes, bytes);
  EXPECT_EQ(amount.ns, ns);
}

TEST(Exchanges, AreAloneIfTransfersBeginWhereTheyEnd) {
  const std::vector<Exchange> exchanges = {{0, 10, 5}, {20, 40, 6}};
  const std::vector<Event> events = {event_of(Function::S, Operation::write, 0, 10, 20, 100)};
  const OfRepetition found = divided(exchanges, events);
  expect_amount(found.messages.alone, 11, 30);
  expect_amount(found.messages.together, 0, 0);
  expect_amount(found.writes.alone, 100, 10);
  expect_amount(found.reads.alone, 0, 0);
}

TEST(Exchanges, AreTogetherWithTransfersFromNineTenthsOfTheTimeOn) {
  // 90 of 100 ns of the exchange are covered, by a write and its sync that follows it at once.
  const std::vector<Exchange> exchanges = {{0, 100, 7}};
  std::vector<Event> events = {event_of(Function::S, Operation::write, 1, 10, 60, 100),
                               event_of(Function::S, Operation::sync, 1, 60, 100, 0)};
  OfRepetition found = divided(exchanges, events);
  expect_amount(found.messages.together, 7, 100);
  expect_amount(found.writes.together, 100, 90);

  events[0].start_ns = 11;
  found = divided(exchanges, events);
  expect_amount(found.messages.together, 0, 0);
  expect_amount(found.messages.partly, 7, 100);
  expect_amount(found.writes.together, 100, 89);
}

TEST(Exchanges, CoverATransferPartly) {
  const std::vector<Exchange> exchanges = {{0, 30, 1}, {40, 50, 1}};
  const std::vector<Event> events = {event_of(Function::C, Operation::read, 0, 20, 60, 100)};
  const OfRepetition found = divided(exchanges, events);
  expect_amount(found.reads.partly, 100, 40);
  expect_amount(found.messages.partly, 1, 30);
  expect_amount(found.messages.together, 1, 10);
}

TEST(Exchanges, LeaveOutTheTransfersOfWButNotTheMessagesBesideThem) {
  const std::vector<Exchange> exchanges = {{0, 10, 3}};
  const std::vector<Event> events = {event_of(Function::W, Operation::read, 0, 0, 6, 100),
                                     event_of(Function::W, Operation::write, 0, 4, 12, 100),
                                     event_of(Function::W, Operation::compute, 0, 0, 10, 0)};
  const OfRepetition found = divided(exchanges, events);
  expect_amount(found.messages.together, 3, 10);
  expect_amount(found.reads.together, 0, 0);
  expect_amount(found.writes.together, 0, 0);
}

}  // namespace
}  // namespace weir::bench::madbench
