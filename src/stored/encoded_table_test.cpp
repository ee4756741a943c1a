#include "stored/encoded_table.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

namespace weir::storage {
namespace {

using Entry = EncodedTable::Entry;

Entry entry_of(std::int64_t chunk, std::int64_t offset) {
  return {chunk, {.file = 0, .offset = offset, .bytes = 10 + chunk % 7, .skipped = 0}};
}

void expect_same(const EncodedTable& table, const std::map<std::int64_t, EncodedPlace>& expected) {
  ASSERT_EQ(table.size(), std::ssize(expected));
  std::vector<Entry> entries;
  for (const auto& [chunk, place] : expected) {
    entries.push_back({chunk, place});
    ASSERT_EQ(table.place_of(chunk), place) << chunk;
    if (!expected.contains(chunk + 1)) {
      ASSERT_FALSE(table.place_of(chunk + 1).has_value()) << chunk;
    }
  }
  ASSERT_TRUE(table.entries() == entries);
  ASSERT_FALSE(table.place_of(-1).has_value());
}

// Against a map of the standard library, in sizes at and beside those of several pages.
TEST(EncodedTable, HoldsWhatWasPutLast) {
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same in every run
  for (const std::int64_t chunks : {1, 4095, 4096, 4097, 20000}) {
    for (const std::int64_t distance : {1, 3}) {
      EncodedTable table;
      std::map<std::int64_t, EncodedPlace> expected;
      const auto put = [&](std::int64_t from, std::int64_t count, std::int64_t apart) {
        std::vector<Entry> entries;
        for (std::int64_t i = 0; i < count; ++i) {
          const auto offset = static_cast<std::int64_t>(random() % 1000000);
          entries.push_back(entry_of(from + i * apart, offset));
          if (random() % 16 == 0) entries.back().place.file = 3;
          if (random() % 16 == 0) entries.back().place.skipped = 5;
        }
        for (const Entry& one : entries) expected[one.chunk] = one.place;
        std::vector<Entry> shuffled = entries;
        std::shuffle(shuffled.begin(), shuffled.end(), random);
        table.put(std::move(shuffled));
      };
      put(10, chunks, distance);
      expect_same(table, expected);
      const EncodedTable before = table;
      const auto expected_before = expected;
      put(0, 5, 1);                             // in front
      put(chunks * distance, chunks, 1);        // behind, and over the last
      put(10 + chunks / 2, 300, 2 * distance);  // between
      expect_same(table, expected);
      expect_same(before, expected_before);
      const std::int64_t last = expected.rbegin()->first;
      for (const std::int64_t from : {last + 1, last, last / 2, std::int64_t{3}, std::int64_t{0}}) {
        table.cut(from);
        expected.erase(expected.lower_bound(from), expected.end());
        expect_same(table, expected);
        EXPECT_TRUE(table.entries(from).empty());
      }
      EXPECT_TRUE(table == EncodedTable());
      expect_same(before, expected_before);

      // A table in memory that processes share is the same; what is put later is this process's
      // again.
      EncodedTable shared = before;
      const std::size_t words = before.blocks().own_words();
      EXPECT_GE(words, static_cast<std::size_t>(2 * before.size()));
      const auto memory = std::make_shared<std::vector<std::int64_t>>(words);
      before.blocks().copy_own(*memory);
      shared.blocks().share_own(std::shared_ptr<const std::int64_t>(memory, memory->data()));
      EXPECT_EQ(shared.blocks().own_words(), 0U);
      EXPECT_TRUE(shared == before);
      expect_same(shared, expected_before);
      expected = expected_before;
      const Entry more = entry_of(expected.rbegin()->first + 7, 5);
      shared.put({more});
      expected[more.chunk] = more.place;
      expect_same(shared, expected);
      EXPECT_GT(shared.blocks().own_words(), 0U);
      EXPECT_LE(shared.blocks().own_words(), 3U + 5U * 4096U);
      expect_same(before, expected_before);
    }
  }
}

TEST(EncodedTable, OfAChunkThatIsPutTwiceTheLastPlaceCounts) {
  const EncodedTable table({entry_of(2, 20), entry_of(1, 10), entry_of(2, 30), entry_of(2, 40)});
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(table.place_of(2)->offset, 40);
  EXPECT_TRUE(table.entries(2) == std::vector<Entry>{entry_of(2, 40)});
}

// Steps are put one behind the other; copies are those that parts of a program have of one array.
TEST(EncodedTable, CopiesTakeNoMemoryAndAPlaceTakesTwentyFourBytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' memory is not counted";
#endif
  constexpr std::int64_t steps = 250;
  constexpr std::int64_t chunks = 4000;
  const auto in_use = [] {
    const struct mallinfo2 now = ::mallinfo2();
    return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
  };
  for (const std::int64_t apart : {1, 2}) {
    const std::int64_t before = in_use();
    EncodedTable table;
    std::vector<EncodedTable> copies(5);
    for (std::int64_t step = 0; step < steps; ++step) {
      std::vector<Entry> entries;
      entries.reserve(chunks);
      for (std::int64_t i = 0; i < chunks; ++i) {
        entries.push_back(entry_of((step * chunks + i) * apart, i));
      }
      table.put(std::move(entries));
      for (EncodedTable& one : copies) one = table;
    }
    const std::int64_t bytes = in_use() - before;
    ASSERT_EQ(copies.back().size(), steps * chunks);
    EXPECT_GT(bytes, 0);
    EXPECT_LT(bytes, (apart == 1 ? 17 : 25) * steps * chunks);
  }
}

}  // namespace
}  // namespace weir::storage
