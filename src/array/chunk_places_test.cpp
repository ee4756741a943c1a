#include "array/chunk_places.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace weir::array {
namespace {

TEST(ChunkTable, ChunksAtEqualDistancesAreOneEntry) {
  ChunkTable table;
  for (std::int64_t chunk = 0; chunk < 1000; ++chunk) table.add(chunk, {0, 4096 + chunk * 100});
  EXPECT_EQ(table.runs().size(), 1U);
  EXPECT_EQ(table.size(), 1000);
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
    cut.append(table.part(from, 21 - from).runs(), from);
    EXPECT_EQ(cut, table) << from;
  }
}

// Runs at any distances, over the limits of blocks, against a map of the standard library.
TEST(ChunkTable, IsTheSameInSeveralBlocksAndInSharedMemory) {
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same in every run
  for (const std::int64_t chunks : {1, 1023, 1024, 1025, 5000}) {
    SCOPED_TRACE(chunks);
    std::map<std::int64_t, ChunkPlace> expected;
    std::vector<ChunkTable::Run> runs;
    const auto add = [&](std::vector<ChunkTable::Run>& to, std::int64_t chunk) {
      const bool is_near = random() % 2 == 0 && expected.contains(chunk - 1);
      const std::int64_t offset = is_near ? expected.at(chunk - 1).offset + 8
                                          : static_cast<std::int64_t>(random() % 1000000);
      expected[chunk] = {0, offset};
      ChunkTable::add(to, chunk, expected[chunk]);
    };
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      if (random() % 8 != 0) add(runs, chunk);
    }
    ChunkTable table = ChunkTable::of(runs);
    const auto expect_all = [&](const ChunkTable& found, std::int64_t first, std::int64_t count,
                                std::int64_t offset) {
      std::int64_t there = 0;
      for (std::int64_t chunk = -1; chunk <= count; ++chunk) {
        const auto one = expected.find(first + chunk);
        const bool is_there = chunk >= 0 && chunk < count && one != expected.end();
        const auto place = found.place_of(chunk);
        ASSERT_EQ(place.has_value(), is_there) << chunk;
        if (!is_there) continue;
        ++there;
        ASSERT_EQ(*place, (ChunkPlace{0, one->second.offset + offset})) << chunk;
      }
      ASSERT_EQ(found.size(), there);
      ASSERT_EQ(ChunkTable::of(found.runs()), found);
    };
    expect_all(table, 0, chunks, 0);
    EXPECT_EQ(table.runs(), runs);
    const std::int64_t middle = chunks / 2;
    expect_all(table.part(middle, chunks / 3, 5), middle, chunks / 3, 5);
    expect_all(table.part(middle, chunks).part(1, chunks / 4, 7), middle + 1, chunks / 4, 7);

    const std::size_t words = table.blocks().own_words();
    EXPECT_EQ(words, 5 * runs.size());
    const auto memory = std::make_shared<std::vector<std::int64_t>>(words);
    table.blocks().copy_own(*memory);
    ChunkTable shared = table;
    shared.blocks().share_own(std::shared_ptr<const std::int64_t>(memory, memory->data()));
    EXPECT_EQ(shared.blocks().own_words(), 0U);
    EXPECT_EQ(shared, table);
    expect_all(shared, 0, chunks, 0);

    // A change takes memory for the last block alone.
    shared.cut(middle);
    expected.erase(expected.lower_bound(middle), expected.end());
    expect_all(shared, 0, chunks, 0);
    std::vector<ChunkTable::Run> later;
    for (std::int64_t chunk = middle; chunk < middle + 9; ++chunk) add(later, chunk);
    shared.append(later, 0);
    expect_all(shared, 0, middle + 9, 0);
    EXPECT_LE(shared.blocks().own_words(), 5U * (1024U + 9U));
    EXPECT_EQ(table.runs(), runs);
  }
}

// Copies and parts are those that the arrays, requests and plans of a program have of one table.
TEST(ChunkTable, CopiesAndPartsTakeNoMemoryAndARunTakesFortyBytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' memory is not counted";
#endif
  constexpr std::int64_t chunks = 200'000;
  const auto in_use = [] {
    const struct mallinfo2 now = ::mallinfo2();
    return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
  };
  const std::int64_t before = in_use();
  ChunkTable table;
  std::vector<ChunkTable> others(64);
  constexpr std::int64_t step = 1000;
  for (std::int64_t first = 0; first < chunks; first += step) {
    std::vector<ChunkTable::Run> runs;
    for (std::int64_t i = 0; i < step; ++i) ChunkTable::add(runs, i, {0, i * i});
    // Places at growing distances are a run for every two chunks.
    ASSERT_EQ(std::ssize(runs), step / 2);
    table.append(runs, first);
    for (ChunkTable& one : others) one = table.part(first / 2, step);
  }
  const std::int64_t bytes = in_use() - before;
  ASSERT_EQ(table.size(), chunks);
  ASSERT_EQ(others.back().size(), step);
  EXPECT_GT(bytes, 0);
  EXPECT_LT(bytes, 41 * (chunks / 2));
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
