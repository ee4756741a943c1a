#include "array/chunk_places.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weir::array {
namespace {

TEST(ChunkTable, ChunksAtEqualDistancesAreOneEntry) {
  ChunkTable table;
  for (std::int64_t chunk = 0; chunk < 1000; ++chunk) table.add(chunk, {0, 4096 + chunk * 100});
  EXPECT_EQ(table.entries(), 1);
  EXPECT_EQ(table.place_of(999), (ChunkPlace{0, 4096 + 99900}));
  EXPECT_FALSE(table.place_of(1000).has_value());
}

TEST(ChunkTable, AnyOrderInTheFileAndChunksLeftOut) {
  ChunkTable table;
  const std::vector<std::pair<std::int64_t, std::int64_t>> places = {
      {2, 700}, {3, 600}, {4, 500}, {5, 900}, {9, 100}, {10, 100000}};
  for (const auto& [chunk, offset] : places) table.add(chunk, {chunk / 4, offset});
  for (const auto& [chunk, offset] : places) {
    EXPECT_EQ(table.place_of(chunk), (ChunkPlace{chunk / 4, offset})) << chunk;
  }
  for (const std::int64_t chunk : {0, 1, 6, 8, 11}) {
    EXPECT_FALSE(table.place_of(chunk).has_value()) << chunk;
  }
}

TEST(ChunkTable, APartIsNumberedFromItsFirstChunk) {
  ChunkTable table;
  for (std::int64_t chunk = 0; chunk < 10; ++chunk) table.add(chunk, {0, 100 + chunk * 8});
  for (std::int64_t chunk = 12; chunk < 20; ++chunk) table.add(chunk, {0, 900 - chunk * 8});
  for (std::int64_t first = 0; first < 20; ++first) {
    const ChunkTable part = table.part(first, 5);
    for (std::int64_t chunk = 0; chunk < 5; ++chunk) {
      EXPECT_EQ(part.place_of(chunk), table.place_of(first + chunk)) << first << " " << chunk;
    }
    EXPECT_FALSE(part.place_of(5).has_value());
    EXPECT_EQ(ChunkTable::of(part.runs()), part);
  }
}

TEST(ChunkTable, IsCutAndContinued) {
  ChunkTable table;
  for (std::int64_t chunk = 0; chunk < 10; ++chunk) table.add(chunk, {0, 100 + chunk * 8});
  for (std::int64_t chunk = 12; chunk < 20; ++chunk) table.add(chunk, {0, 900 - chunk * 8});
  for (std::int64_t from = 0; from <= 21; ++from) {
    ChunkTable cut = table;
    cut.cut(from);
    for (std::int64_t chunk = 0; chunk < 21; ++chunk) {
      EXPECT_EQ(cut.place_of(chunk), chunk < from ? table.place_of(chunk) : std::nullopt)
          << from << " " << chunk;
    }
    cut.append(table.part(from, 21 - from), from);
    EXPECT_EQ(cut, table) << from;
  }
}

TEST(SlotsInTurn, TakeTurnsAsDeclusteringDoes) {
  const SlotsInTurn slots{.files = 3, .offset = 10, .slot_bytes = 7, .turn = 0x9E3779B97F4A7C15U};
  const auto declustering = Declustering::turning(3, slots.turn);
  for (std::int64_t chunk = 0; chunk < 30; ++chunk) {
    EXPECT_EQ(slots.place_of(chunk), (ChunkPlace{declustering.holder(chunk), 10 + chunk / 3 * 7}));
  }
}

}  // namespace
}  // namespace weir::array
