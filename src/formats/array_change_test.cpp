#include "stored/array_change.hpp"

#include <gtest/gtest.h>

#include "formats/file_map_message.hpp"

namespace weir::storage {
namespace {

using array::Indices;
using array::Shape;

constexpr std::int64_t per_step = 4;  // chunks, where a chunk is of one step

// Steps of 8 numbers in chunks of `chunk_steps` x 2, the first `placed` chunks there.
ExtentMap plain_map(std::int64_t steps, std::int64_t chunk_steps, std::int64_t placed) {
  const Shape shape = Shape::create({steps, 8}).value();
  const Indices chunk = {chunk_steps, 2};
  ExtentMap map{.shape = shape,
                .type = array::ElementKind::int32,
                .files = DataFiles::one("f"),
                .extents = DenseExtents{}};
  ChunkTable table;
  for (std::int64_t i = 0; i < placed; ++i) table.add(i, {0, 1000 + i * i});
  map.extents = ChunkExtents{array::ChunkGrid::create(shape, chunk).value(), chunk, table};
  return map;
}

ExtentMap encoded_map(std::int64_t steps, std::int64_t placed) {
  const Shape shape = Shape::create({steps, 8}).value();
  const Indices chunk = {1, 2};
  ExtentMap map{.shape = shape,
                .type = array::ElementKind::int32,
                .files = DataFiles::one("f"),
                .extents = DenseExtents{}};
  EncodedTable table;
  for (std::int64_t i = 0; i < placed; ++i) {
    table.put({{i, {.file = 0, .offset = 1000 + i * i, .bytes = 9, .skipped = 0}}});
  }
  map.extents = EncodedChunks{
      array::ChunkGrid::create(shape, chunk).value(), chunk, {Fletcher32Codec{}}, table};
  return map;
}

// Returns what other ranks have after a change that rank 0 told.
ExtentMap told(const ArrayChange& change, ExtentMap map) {
  const auto heard = parse_array_changes(message_of(std::vector<ArrayChange>{change}));
  EXPECT_TRUE(heard.ok()) << heard.error().text();
  EXPECT_EQ(heard.value().size(), 1U);
  apply(heard.value().front(), map);
  return map;
}

TEST(ArrayChange, ShapesGetAnotherNumberOfSteps) {
  const array::Shape shape = array::Shape::create({3, 5}).value();
  EXPECT_EQ(with_steps(shape, 7).value(), array::Shape::create({7, 5}).value());
  EXPECT_EQ(with_steps(shape, 0).value(), array::Shape::create({0, 5}).value());
  EXPECT_EQ(with_steps(shape, array::max_elements / 5).value().extent(0), array::max_elements / 5);
  EXPECT_FALSE(with_steps(shape, array::max_elements / 5 + 1).ok());
  EXPECT_FALSE(with_steps(shape, -1).ok());
}

TEST(ArrayChange, HoldsThePlacesOfNewStepsAlone) {
  for (std::int64_t steps = 1; steps < 10; ++steps) {
    const ExtentMap before = plain_map(steps, 1, steps * per_step);
    const ExtentMap after = plain_map(steps + 1, 1, (steps + 1) * per_step);
    const ArrayChange change = change_of(before, after, true, steps);
    ASSERT_TRUE(std::holds_alternative<ArrayGrown>(change));
    EXPECT_EQ(std::get<ArrayGrown>(change).from_chunk, steps * per_step);
    EXPECT_LE(std::get<ArrayGrown>(change).runs.size(), 4U);
    EXPECT_TRUE(told(change, before) == after) << steps;
  }
  const ExtentMap before = encoded_map(5, 5 * per_step);
  const ArrayChange change = change_of(before, encoded_map(6, 5 * per_step), true, 5);
  ASSERT_TRUE(std::holds_alternative<ArrayGrown>(change));
  EXPECT_TRUE(std::get<ArrayGrown>(change).entries.empty());
  EXPECT_TRUE(told(change, before) == encoded_map(6, 5 * per_step));
}

// A step that was begun and not committed gets other places when it begins again.
TEST(ArrayChange, ReplacesPlacesOfAStepThatWasNotCommitted) {
  ExtentMap after = plain_map(3, 1, 2 * per_step);
  auto& table = std::get<ChunkTable>(std::get<ChunkExtents>(after.extents).places);
  for (std::int64_t i = 0; i < per_step; ++i) table.add(2 * per_step + i, {0, 90000 - i});
  const ExtentMap before = plain_map(3, 1, 3 * per_step);
  EXPECT_TRUE(told(change_of(before, after, true, 2), before) == after);
  const ExtentMap uncommitted = encoded_map(3, 3 * per_step);
  const ExtentMap again = encoded_map(3, 2 * per_step);
  EXPECT_TRUE(told(change_of(uncommitted, again, true, 2), uncommitted) == again);
}

TEST(ArrayChange, ChunksOfSeveralStepsAreKeptWhileTheyFillUp) {
  constexpr std::int64_t chunk_steps = 3;
  for (std::int64_t steps = 1; steps < 10; ++steps) {
    const auto rows = [](std::int64_t of) { return (of + chunk_steps - 1) / chunk_steps; };
    const ExtentMap before = plain_map(steps, chunk_steps, rows(steps) * 4);
    const ExtentMap after = plain_map(steps + 1, chunk_steps, rows(steps + 1) * 4);
    EXPECT_TRUE(told(change_of(before, after, true, steps), before) == after) << steps;
  }
}

TEST(ArrayChange, IsTheWholeMapWhereMoreThanStepsDiffers) {
  const ExtentMap before = plain_map(2, 1, 8);
  ExtentMap after = plain_map(3, 1, 12);
  after.type = array::ElementKind::float32;
  EXPECT_TRUE(told(change_of(before, after, true, 2), before) == after);
  after = encoded_map(3, 8);
  EXPECT_TRUE(told(change_of(before, after, true, 2), before) == after);
  // Any difference of an array that does not grow makes it another.
  after = plain_map(2, 1, 7);
  EXPECT_TRUE(std::holds_alternative<ArrayMoved>(change_of(before, after, false, 2)));
  EXPECT_TRUE(std::holds_alternative<ArrayKept>(change_of(before, before, false, 2)));
}

TEST(ArrayChange, OfRecordsIsTheirNumber) {
  ExtentMap before = plain_map(2, 1, 8);
  before.extents = RecordExtents{100, 64};
  ExtentMap after = plain_map(3, 1, 12);
  after.extents = RecordExtents{100, 64};
  const ArrayChange change = change_of(before, after, true, 2);
  ASSERT_TRUE(std::holds_alternative<ArrayGrown>(change));
  EXPECT_TRUE(told(change, before) == after);
}

}  // namespace
}  // namespace weir::storage
