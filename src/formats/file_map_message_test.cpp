#include "formats/file_map_message.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weir::storage
