#include "formats/file_map_message.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace weir::storage {
namespace {

StoredArray stored(const std::string& name, ExtentMap map) {
  StoredArray one{{.name = name, .shape = map.shape, .type = map.type}, std::move(map)};
  one.description.fill = std::vector<std::byte>(8, std::byte{0xfe});
  one.description.dimension_names = {"y", "x"};
  one.description.attributes = {{"units", std::string("K\xff")},  // as no UTF-8 has it
                                {"levels", std::vector<std::int64_t>{1, -2}},
                                {"scale", std::vector<double>{0.5}},
                                {"small", std::vector<float>{-0.1F}},
                                {"large", std::vector<std::uint64_t>{UINT64_MAX}},
                                {"flags", std::vector<Truth>{Truth::yes, Truth::no}},
                                {"tags", std::vector<std::string>{"a", ""}}};
  one.description.codecs = {ShuffleCodec{4},
                            DeflateCodec{9, true},
                            ZstdCodec{-3, true},
                            BloscCodec{BloscCompressor::zlib, 3, BloscShuffle::bit, 2, 64},
                            Blosc2Codec{BloscCompressor::lz4, 2, BloscShuffle::none, 8},
                            ZfpCodec{0.25, true, 77},
                            Crc32cCodec{},
                            Fletcher32Codec{}};
  return one;
}

TEST(FileMapMessage, GivesEveryKindOfMapBack) {
  const auto shape = array::Shape::create({6, 9}).value();
  const auto grid = array::ChunkGrid::create(shape, {2, 4}).value();
  const auto map = [&](auto extents) {
    return ExtentMap{.shape = shape,
                     .type = array::ElementKind::float64,
                     .order = array::Order::column_major,
                     .byte_order = ByteOrder::big,
                     .files = DataFiles::one("a"),
                     .extents = std::move(extents)};
  };
  array::ChunkTable table;
  table.add(0, {0, 100});
  table.add(5, {1, 7});
  EncodedTable encoded({{3, {0, 10, 20, 1}}, {1, {2, 0, -1, 0}}});
  FileMap file;
  file.arrays.push_back(stored("dense", map(DenseExtents{4096})));
  file.arrays.push_back(stored("records", map(RecordExtents{10, 333})));
  file.arrays.push_back(stored(
      "slots", map(ChunkExtents{grid, std::nullopt, SlotsInTurn{3, 1, 64, 0xffffffffffffffff}})));
  file.arrays.push_back(stored(
      "shards", map(ChunkExtents{grid, array::Indices{2, 4}, ShardSlots{{2, 2}, {2, 2}, 5, 64}})));
  file.arrays.push_back(stored("table", map(ChunkExtents{grid, array::Indices{2, 4}, table})));
  file.arrays.push_back(
      stored("each", map(EncodedChunks{grid, {2, 4}, {ZstdCodec{}}, FilePerChunk{}})));
  file.arrays.push_back(stored("encoded", map(EncodedChunks{grid, {2, 4}, {}, encoded})));
  file.arrays.push_back(stored(
      "encoded shards",
      map(EncodedChunks{
          grid, {2, 4}, {Crc32cCodec{}}, EncodedShards{{2, 1}, {2, 3}, false, true, encoded}})));
  file.arrays[0].map.files = DataFiles::numbered("a", 4, {"b", "c"});
  file.arrays[1].map.files = DataFiles::in_grid("a/c.", {2, 3}, '.');
  file.arrays[1].map.files.set_bytes_when_made(512);
  file.arrays[2].description.grows = true;
  file.groups = {{"g", {{"title", std::string("x")}}}};
  file.refused = {{"text", "is text"}};
  file.left_out = {{"g", "tags", "it is a list of texts"}};

  const auto again = parse_file_map(message_of(file));
  ASSERT_TRUE(again.ok()) << again.error().text();
  ASSERT_EQ(again.value().arrays.size(), file.arrays.size());
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    EXPECT_EQ(again.value().arrays[i].map, file.arrays[i].map) << file.arrays[i].description.name;
    EXPECT_EQ(again.value().arrays[i].description, file.arrays[i].description);
  }
  EXPECT_EQ(again.value().groups, file.groups);
  EXPECT_EQ(again.value().left_out, file.left_out);
  ASSERT_EQ(again.value().refused.size(), 1U);
  EXPECT_EQ(again.value().refused[0].reason, "is text");
  EXPECT_FALSE(parse_file_map("").ok());
  EXPECT_FALSE(parse_file_map(message_of(file).substr(0, 100)).ok());
}

// The tables of an array, whatever it is.
array::WordBlocks& blocks_of(ExtentMap& map) {
  if (auto* const chunks = std::get_if<ChunkExtents>(&map.extents)) {
    return std::get<ChunkTable>(chunks->places).blocks();
  }
  auto& places = std::get<EncodedChunks>(map.extents).places;
  auto* const shards = std::get_if<EncodedShards>(&places);
  return shards != nullptr ? shards->table.blocks() : std::get<EncodedTable>(places).blocks();
}

TEST(FileMapMessage, WithoutTablesHasTheLengthsOfTheirBlocks) {
  constexpr std::int64_t chunks = 100'000;
  const auto shape = array::Shape::create({chunks}).value();
  const auto grid = array::ChunkGrid::create(shape, {1}).value();
  std::vector<ChunkTable::Run> runs;
  std::vector<EncodedTable::Entry> entries;
  for (std::int64_t i = 0; i < chunks; ++i) {
    ChunkTable::add(runs, i, {0, i * i});
    entries.push_back({i, {0, i * i, 7, 0}});
  }
  const EncodedTable encoded(entries);
  const auto map = [&](auto extents) {
    return ExtentMap{.shape = shape,
                     .type = array::ElementKind::int8,
                     .files = DataFiles::one("a"),
                     .extents = std::move(extents)};
  };
  FileMap file;
  file.arrays.push_back(
      stored("table", map(ChunkExtents{grid, array::Indices{1}, ChunkTable::of(runs)})));
  file.arrays.push_back(
      stored("encoded", map(EncodedChunks{grid, {1}, {Fletcher32Codec{}}, encoded})));
  file.arrays.push_back(stored(
      "shards",
      map(EncodedChunks{grid, {1}, {}, EncodedShards{{5}, {chunks / 5}, true, true, encoded}})));
  EXPECT_GT(message_of(file).size(), 8U * chunks);
  const std::string message = message_of(file, Tables::apart);
  EXPECT_LT(message.size(), 4000U);
  auto again = parse_file_map(message, Tables::apart);
  ASSERT_TRUE(again.ok()) << again.error().text();
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    SCOPED_TRACE(file.arrays[i].description.name);
    const array::WordBlocks& full = blocks_of(file.arrays[i].map);
    array::WordBlocks& missing = blocks_of(again.value().arrays[i].map);
    ASSERT_EQ(missing.own_words(), full.own_words());
    const auto words = std::make_shared<std::vector<std::int64_t>>(full.own_words());
    full.copy_own(*words);
    missing.share_own(std::shared_ptr<const std::int64_t>(words, words->data()));
    EXPECT_EQ(again.value().arrays[i].map, file.arrays[i].map);
  }
}

}  // namespace
}  // namespace weir::storage
