// Checksums by blocks: put together from parts in any order; the file that they are kept in, also
// damaged and hostile; where arrays lie.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "array/chunk_grid.hpp"
#include "checksums/array_places.hpp"
#include "checksums/array_sums.hpp"
#include "checksums/block_owner.hpp"
#include "checksums/block_sums.hpp"
#include "checksums/known_sums.hpp"
#include "checksums/sum_book.hpp"
#include "checksums/sums_file.hpp"
#include "common/crc32c.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t block = 512;

std::vector<std::byte> summed_bytes(std::size_t count) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(count);
  for (std::byte& one : bytes) one = static_cast<std::byte>(random());
  return bytes;
}

std::uint32_t sum_between(const std::vector<std::byte>& file, std::int64_t begin,
                          std::int64_t end) {
  return crc32c(std::span(file).subspan(static_cast<std::size_t>(begin),
                                        static_cast<std::size_t>(end - begin)));
}

void add(BlockSums& sums, std::vector<std::byte>& file, std::int64_t begin, std::int64_t end) {
  const Slice slice{file.data() + begin, end - begin};
  sums.add(0, begin, end - begin, {&slice, 1});
}

void expect_sums(const std::vector<SummedRun>& runs, const std::vector<std::byte>& file) {
  for (const SummedRun& run : runs) {
    std::int64_t at = run.offset;
    for (const std::uint32_t sum : run.sums) {
      const std::int64_t end = std::min(run.offset + run.bytes, (at / block + 1) * block);
      EXPECT_EQ(sum, sum_between(file, at, end)) << at;
      at = end;
    }
    EXPECT_EQ(at, run.offset + run.bytes);
  }
}

TEST(BlockSums, ArePutTogetherFromPartsOfSeveralProcessesInAnyOrder) {
  std::mt19937 random(1);
  auto file = summed_bytes(5000);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> cuts = {100, 4900};
    for (int i = 0; i < 40; ++i) cuts.push_back(100 + static_cast<std::int64_t>(random() % 4800));
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::size_t> order(cuts.size() - 1);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<BlockSums> processes(3, BlockSums(1000, block));
    for (const std::size_t i : order) {
      BlockSums& process = processes[random() % 3];
      process.set_turn(static_cast<std::int64_t>(1 + random() % 2));
      add(process, file, cuts[i], cuts[i + 1]);
    }
    std::vector<std::int64_t> numbers;
    for (const BlockSums& process : processes) process.tell(7, numbers);
    const auto arrays = BlockSums::told(numbers, block);
    ASSERT_EQ(arrays.size(), 1U);
    const auto runs = arrays.at(7).runs();
    EXPECT_TRUE(arrays.at(7).unclear().empty());
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].offset, 100);
    EXPECT_EQ(runs[0].bytes, 4800);
    expect_sums(runs, file);
  }
}

TEST(BlockSums, OfWhatIsWrittenAgainAreThoseOfTheLastTurnOrUnclear) {
  auto before = summed_bytes(2048);
  auto after = before;
  for (std::byte& one : after) one ^= std::byte{1};
  BlockSums sums(1000, block);
  sums.set_turn(1);
  add(sums, before, 0, 2048);
  sums.set_turn(2);
  add(sums, after, 512, 1024);   // a whole block
  add(sums, after, 1100, 1200);  // a part of one
  const auto runs = sums.runs();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].sums,
            (std::vector{sum_between(before, 0, 512), sum_between(after, 512, 1024)}));
  EXPECT_EQ(runs[1].offset, 1536);
  EXPECT_EQ(sums.unclear(), (std::vector<BlockSums::Block>{{0, 1024}}));
}

TEST(BlockSums, GiveABlockUpWhosePartsAreTooMany) {
  auto file = summed_bytes(2048);
  BlockSums sums(5, block);
  for (std::int64_t at = 0; at < 2000; at += 20) add(sums, file, at, at + 10);
  EXPECT_TRUE(sums.runs().empty());
  EXPECT_EQ(sums.unclear().size(), 4U);
}

std::vector<NamedRun> some_runs() {
  return {{"", 100, 1000, {1, 2, 3}}, {"/c.0.1", 0, 512, {4}}, {"", 1536, 1, {5}}};
}

std::string some_file() {
  const auto runs = some_runs();
  const std::span<const NamedRun> all(runs);
  return sums_header(block) + sums_frame(1, all.first(1)) + sums_frame(2, all.subspan(1));
}

TEST(SumsFile, SaysOfEachFileWhatWasEntered) {
  const std::string text = some_file();
  const ParsedSums all = parse_sums(text, 2);
  EXPECT_EQ(all.damage, "");
  EXPECT_EQ(all.counted_bytes, static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(all.book.runs(),
            (std::vector<NamedRun>{
                {"", 100, 1000, {1, 2, 3}}, {"", 1536, 1, {5}}, {"/c.0.1", 0, 512, {4}}}));
  std::vector<std::int64_t> begins;
  all.book.for_each_block(all.book.number_of(""), 500, 1600, [&](const SumBook::Block& one) {
    begins.push_back(one.begin);
    return true;
  });
  EXPECT_EQ(begins, (std::vector<std::int64_t>{100, 512, 1024, 1536}));
  EXPECT_EQ(all.book.number_of("/c.0"), -1);
  // For a file with one step, the second frame is of a step that was not committed.
  const ParsedSums first = parse_sums(text, 1);
  EXPECT_EQ(first.damage, "");
  EXPECT_EQ(first.book.runs(), (std::vector<NamedRun>{{"", 100, 1000, {1, 2, 3}}}));
  EXPECT_LT(first.counted_bytes, all.counted_bytes);
}

TEST(SumsFile, ForgetsBlocksThatReachIntoARange) {
  SumBook book(block);
  ASSERT_TRUE(book.enter({"", 100, 5020, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}));
  EXPECT_FALSE(book.enter({"", 0, 101, {0}}));
  EXPECT_FALSE(book.enter({"", 5119, 2, {0}}));
  book.forget("", 1030, 1540);
  EXPECT_EQ(book.runs(),
            (std::vector<NamedRun>{{"", 100, 924, {0, 1}}, {"", 2048, 3072, {4, 5, 6, 7, 8, 9}}}));
  book.forget("", 0, INT64_MAX / 2);
  EXPECT_TRUE(book.runs().empty());
}

TEST(SumsFile, WhateverItHoldsIsReadOrDamaged) {
  const std::string good = some_file();
  const auto known = parse_sums(good, 2).book.runs();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string text = good;
    text[at] = static_cast<char>(text[at] ^ 0x41);
    const ParsedSums parsed = parse_sums(text, 2);
    EXPECT_NE(parsed.damage, "") << at;
    EXPECT_LT(parsed.book.runs().size(), known.size()) << at;
    const ParsedSums cut = parse_sums(good.substr(0, at), 2);
    EXPECT_LT(cut.book.runs().size(), known.size());
    EXPECT_LE(cut.counted_bytes, static_cast<std::int64_t>(at));
  }
  // The sums of these runs are right, and their numbers are impossible.
  for (const NamedRun& run : std::vector<NamedRun>{{"", -1, 10, {1}},
                                                   {"", 0, 0, {}},
                                                   {"", 0, INT64_MAX, {1}},
                                                   {"", INT64_MAX, INT64_MAX, {1}},
                                                   {"", INT64_MAX - 5, 5, {1}},
                                                   {"", 0, std::int64_t{1} << 60, {1, 2}},
                                                   {"", 0, 513, {1}},
                                                   {"", 600, 10, {}}}) {
    const std::string text = sums_header(block) + sums_frame(1, std::span(&run, 1));
    EXPECT_NE(parse_sums(text, 1).damage, "") << run.offset << " " << run.bytes;
  }
  // Twice the same bytes.
  const std::vector<NamedRun> twice = {{"", 0, 600, {1, 2}}, {"", 599, 1, {3}}};
  EXPECT_NE(parse_sums(sums_header(block) + sums_frame(1, twice), 1).damage, "");
  EXPECT_NE(parse_sums(sums_header(1), 1).damage, "");
  EXPECT_NE(parse_sums(sums_header(INT64_MAX), 1).damage, "");
  EXPECT_EQ(parse_sums("", 1).damage, "");
}

TEST(SumsFile, IsReadAtItsLimitsAndRefusedBeyond) {
  constexpr std::int64_t most_block = std::int64_t{1} << 30;
  const std::vector<NamedRun> runs = {{"", 100, most_block, {1, 2}}};
  const std::string frame = sums_frame(1, runs);
  const ParsedSums longest = parse_sums(sums_header(most_block) + frame, 1);
  EXPECT_EQ(longest.damage, "");
  EXPECT_EQ(longest.book.runs(), runs);
  const ParsedSums longer = parse_sums(sums_header(most_block + 1) + frame, 1);
  EXPECT_NE(longer.damage, "");
  EXPECT_TRUE(longer.book.runs().empty());

  // A hole behind the frame makes the file as long as one may be.
  const TestFolder folder;
  const std::string path = folder.path("file.sums");
  std::ofstream(path, std::ios::binary) << sums_header(most_block) + frame;
  std::filesystem::resize_file(path, longest_sums_file);
  const auto read = read_sums(path);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(std::ssize(read.value()), longest_sums_file);
  EXPECT_EQ(parse_sums(read.value(), 1).book.runs(), runs);
  std::filesystem::resize_file(path, longest_sums_file + 1);
  const auto refused = read_sums(path);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("too long"), std::string::npos) << refused.error().text();
}

TEST(SumsFile, IsAddedToAndCut) {
  const TestFolder folder;
  const std::string path = folder.path("file.sums");
  const std::vector<NamedRun> runs = {
      {"", 100, 1000, {1}}, {"/c.0.1", 0, 512, {4}}, {"", 1536, 1, {5}}};
  const std::span<const NamedRun> all(runs);
  const auto durability = StepDurability::none;
  const auto entered = [&](std::int64_t steps) {
    return parse_sums(read_sums(path).value(), steps).book.runs().size();
  };
  EXPECT_EQ(read_sums(path).value(), "");
  EXPECT_TRUE(cut_sums(path, 1).ok());
  ASSERT_TRUE(append_sums(path, sums_frame(1, all.first(1)), durability).ok());
  ASSERT_TRUE(append_sums(path, sums_frame(2, all.subspan(1)), durability).ok());
  EXPECT_EQ(entered(2), 3U);
  EXPECT_TRUE(cut_sums(path, 2).ok());
  EXPECT_EQ(entered(2), 3U);
  EXPECT_TRUE(cut_sums(path, 1).ok());
  EXPECT_EQ(entered(2), 1U);
  ASSERT_TRUE(replace_sums(path, sums_frame(1, all.subspan(1)), durability).ok());
  EXPECT_EQ(entered(1), 2U);
  EXPECT_TRUE(remove_sums(path, durability).ok());
  EXPECT_TRUE(remove_sums(path, durability).ok());
  // What nobody reads is left alone, and the steps go on without it.
  std::ofstream(path) << "text";
  std::filesystem::resize_file(path, longest_sums_file + 1);
  const auto cut = cut_sums(path, 1);
  ASSERT_TRUE(cut.ok());
  EXPECT_FALSE(cut.value());
  EXPECT_TRUE(std::filesystem::exists(path));
}

// The name can be guessed, so that another user may have put a link or a pipe there.
TEST(SumsFile, IsNotChangedThroughALink) {
  const TestFolder folder;
  const std::string path = folder.path("file.sums");
  const std::string other = folder.path("other.sums");
  const std::vector<NamedRun> runs = {{"", 100, 1000, {1}}};
  const auto durability = StepDurability::none;
  for (const std::int64_t step : {1, 2}) {
    ASSERT_TRUE(append_sums(other, sums_frame(step, runs), durability).ok());
  }
  const auto bytes = std::filesystem::file_size(other);
  std::filesystem::create_symlink(other, path);
  EXPECT_FALSE(append_sums(path, sums_frame(3, runs), durability).ok());
  EXPECT_FALSE(cut_sums(path, 1).ok());
  EXPECT_EQ(std::filesystem::file_size(other), bytes);
  ASSERT_TRUE(replace_sums(path, sums_frame(1, runs), durability).ok());
  EXPECT_FALSE(std::filesystem::is_symlink(path));
  EXPECT_EQ(std::filesystem::file_size(other), bytes);
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const Status appended = append_sums(path, sums_frame(1, runs), durability);
  EXPECT_NE(appended.error().text().find("other than a file"), std::string::npos);
  EXPECT_FALSE(cut_sums(path, 1).value());
}

// What lies in the holes of a read is overwritten by the next hole's.
TEST(ArraySums, AreNotComparedWithWhatWasDiscarded) {
  const auto stored = summed_bytes(1536);
  std::vector<std::uint32_t> sums;
  for (std::int64_t at = 0; at < 1536; at += block) {
    sums.push_back(sum_between(stored, at, at + block));
  }
  const TestFolder folder;
  const std::string path = folder.path("a");
  const std::vector<NamedRun> runs = {{"", 0, 1536, sums}};
  ASSERT_TRUE(replace_sums(sums_path(path), sums_frame(1, runs), StepDurability::none, block).ok());
  const ExtentMap map{.shape = array::Shape::create({192}).value(),
                      .type = array::ElementType::parse("float64").value(),
                      .files = DataFiles::one(path),
                      .extents = DenseExtents{0}};
  const FileMap file{};
  for (const bool damaged : {false, true}) {
    ArraySums watch(path);
    watch.set_place(map, std::nullopt);
    watch.verify(KnownSums::read(path, 1), file);
    auto read = stored;
    if (damaged) read[1530] ^= std::byte{1};
    std::vector<std::byte> hole(400);
    const auto kept = [&](std::int64_t begin, std::int64_t end) {
      return Slice{read.data() + begin, end - begin};
    };
    const std::vector<Slice> slices = {
        kept(0, 100), {hole.data(), 100}, kept(200, 600), {hole.data(), 400}, kept(1000, 1536)};
    const Status status = watch.has_read({0, 0, slices, hole.data()});
    EXPECT_EQ(status.ok(), !damaged);
    if (damaged) {
      EXPECT_EQ(status.error().offset, 1024);
    }
  }
}

// Somebody who keeps checksums has written the file anew since they were read.
TEST(KnownSums, JudgeByWhatIsThereNow) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const auto known_now = [&](std::uint32_t sum) {
    const std::vector<NamedRun> runs = {{"", 100, 200, {sum}}};
    EXPECT_TRUE(replace_sums(sums_path(path), sums_frame(9, runs), StepDurability::none).ok());
  };
  known_now(7);
  const auto known = KnownSums::read(path, 9);
  const SumBook::Block there{100, 300, 7};
  EXPECT_TRUE(known->is_damaged(0, there, 8));
  known_now(8);
  EXPECT_FALSE(known->is_damaged(0, there, 8));
  EXPECT_TRUE(known->is_damaged(0, there, 9));
  // Another process, which never looked at the file, was told of them so.
  EXPECT_FALSE(KnownSums(path, known->book()).is_damaged(0, there, 8));
  const std::vector<NamedRun> none;
  EXPECT_TRUE(replace_sums(sums_path(path), sums_frame(9, none), StepDurability::none).ok());
  EXPECT_FALSE(known->is_damaged(0, there, 9));
  EXPECT_TRUE(remove_sums(sums_path(path), StepDurability::none).ok());
  EXPECT_FALSE(known->is_damaged(0, there, 9));
}

// What cannot be read acquits no block.
TEST(KnownSums, AreNotJudgedByDamagedOnes) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const std::vector<NamedRun> runs = {{"", 100, 200, {7}}};
  ASSERT_TRUE(replace_sums(sums_path(path), sums_frame(9, runs), StepDurability::none).ok());
  const auto known = KnownSums::read(path, 9);
  std::ofstream(sums_path(path)) << "no header of such a file";
  EXPECT_TRUE(known->is_damaged(0, {100, 300, 7}, 8));
  EXPECT_TRUE(KnownSums(path, known->book()).is_damaged(0, {100, 300, 7}, 8));
}

TEST(BlockOwners, NameArrayAndStep) {
  const auto type = array::ElementType::parse("float64").value();
  const auto stored = [&](const std::string& name, bool grows, const array::Indices& extents,
                          const std::string& file, auto places) {
    const array::Shape shape = array::Shape::create(extents).value();
    ArrayDescription about{.name = name, .shape = shape, .type = type, .grows = grows};
    return StoredArray{
        about, {.shape = shape, .type = type, .files = DataFiles::one(file), .extents = places}};
  };
  const auto grid = [](const array::Indices& extents, const array::Indices& chunk) {
    return array::ChunkGrid::create(array::Shape::create(extents).value(), chunk).value();
  };
  array::ChunkTable table;
  table.add(0, {0, 20000});
  table.add(1, {0, 10000});
  FileMap map;
  map.arrays = {
      stored("fixed", false, {10}, "p", DenseExtents{0}),
      stored("a", true, {3, 10}, "p", RecordExtents{1000, 200}),
      stored("b", true, {3, 10}, "p", RecordExtents{1100, 200}),
      stored("steps", true, {4, 10}, "p", DenseExtents{5000}),
      stored("chunks", true, {4, 10}, "p",
             ChunkExtents{grid({4, 10}, {2, 10}), array::Indices{2, 10}, table}),
      stored("apart", false, {10}, "p/c.0", DenseExtents{0}),
      stored("elsewhere", false, {10}, "q", DenseExtents{2000}),
  };
  const BlockOwners owners(map, "p/");
  const auto owner = [&](std::int64_t begin, std::int64_t end, const std::string& file = "") {
    const Error error = owners.differing_block(file, {begin, end, 1}, 2);
    EXPECT_EQ(error.offset, begin);
    return error.message.substr(0, error.message.find(':'));
  };
  EXPECT_EQ(owner(0, 80), "array \"fixed\"");
  EXPECT_EQ(owner(80, 1000), "no array of the file");
  EXPECT_EQ(owner(1000, 1080), "array \"a\", step 0");
  EXPECT_EQ(owner(1300, 1380), "array \"b\", step 1");
  EXPECT_EQ(owner(1400, 1401), "array \"a\", step 2");
  EXPECT_EQ(owner(1480, 1500), "no array of the file");
  EXPECT_EQ(owner(1580, 5000), "no array of the file");
  EXPECT_EQ(owner(5170, 5240), "array \"steps\", step 2");
  EXPECT_EQ(owner(20080, 20160), "array \"chunks\", step 1");
  EXPECT_EQ(owner(9000, 10001), "array \"chunks\", step 2");
  EXPECT_EQ(owner(5079, 5161), "array \"steps\", steps 0 to 2");
  EXPECT_EQ(owner(10000, 20001), "array \"chunks\", steps 0 to 3");
  EXPECT_EQ(owner(0, 10, "/c.0"), "array \"apart\"");
  EXPECT_EQ(owner(2000, 2010), "no array of the file");
}

TEST(ArrayPlaces, AreThoseOfTheArrayOrOfAStep) {
  const auto shape = array::Shape::create({4, 3, 5}).value();
  ExtentMap map{.shape = shape,
                .type = array::ElementType::parse("float64").value(),
                .files = DataFiles::one("a"),
                .extents = DenseExtents{1000}};
  const auto text = [](const ArrayPlaces& places) {
    std::string all;
    for (const auto& one : places.places()) {
      all += std::to_string(one.file) + ":" + std::to_string(one.begin) + "-" +
             std::to_string(one.end) + " ";
    }
    return all;
  };
  EXPECT_EQ(text(ArrayPlaces::of(map, std::nullopt)), "0:1000-1480 ");
  EXPECT_EQ(text(ArrayPlaces::of(map, 2)), "0:1240-1360 ");
  map.extents = RecordExtents{1000, 500};
  EXPECT_EQ(text(ArrayPlaces::of(map, 1)), "0:1500-1620 ");
  EXPECT_EQ(text(ArrayPlaces::of(map, std::nullopt)),
            "0:1000-1120 0:1500-1620 0:2000-2120 0:2500-2620 ");
  // Two steps in a chunk of 2 x 2 x 5, stored whole; one chunk lies apart.
  array::ChunkTable table;
  table.add(0, {0, 1000});
  table.add(1, {0, 1160});
  table.add(3, {0, 100});
  map.extents = ChunkExtents{array::ChunkGrid::create(shape, {2, 2, 5}).value(),
                             array::Indices{2, 2, 5}, table};
  EXPECT_EQ(text(ArrayPlaces::of(map, std::nullopt)), "0:100-260 0:1000-1320 ");
  EXPECT_EQ(text(ArrayPlaces::of(map, 1)), "0:1080-1160 0:1240-1320 ");
  EXPECT_EQ(text(ArrayPlaces::of(map, 2)), "0:100-180 ");
  std::string found;
  ArrayPlaces::of(map, 1).for_each_in(0, 1100, 1250, [&](std::int64_t begin, std::int64_t end) {
    found += std::to_string(begin) + "-" + std::to_string(end) + " ";
  });
  EXPECT_EQ(found, "1100-1160 1240-1250 ");
}

}  // namespace
}  // namespace weir::storage
