#include "formats/raw_array.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::storage {
namespace {

RawArray chunked() {
  return {array::Shape::create({100, 70, 3}).value(),
          array::ElementKind::float32,
          array::Order::column_major,
          4096,
          array::Indices({10, 70, 2}),
          "as asked",
          FileLayout::per_aggregator,
          4};
}

TEST(RawArray, DocumentsAreReadBack) {
  RawArray contiguous{array::Shape::create({std::int64_t{1} << 40}).value(),
                      array::ElementType::record(24).value()};
  for (const RawArray& array : {contiguous, chunked()}) {
    const auto again = parse_raw_array(raw_array_json(array), "x.json");
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(again.value(), array);
  }
  EXPECT_EQ(data_path(contiguous, "/a/b", 0), "/a/b");
  EXPECT_EQ(data_path(chunked(), "/a/b", 3), "/a/b.3");
}

TEST(RawArray, RefusesWhatCannotBe) {
  RawArray array = chunked();
  array.files = 0;
  EXPECT_FALSE(array.check().ok());
  array = chunked();
  array.chunk_extents = std::nullopt;
  EXPECT_FALSE(array.check().ok());
  array = chunked();
  array.offset = INT64_MAX;
  EXPECT_FALSE(array.check().ok());
  array = chunked();
  array.chunk_extents = array::Indices({10, 70});
  EXPECT_FALSE(array.check().ok());
}

// One member of a good document replaced: refused in one line that names the document and, where
// there is one, the member.
TEST(RawArray, RefusesHostileDocuments) {
  const std::string good = raw_array_json(chunked());
  ASSERT_TRUE(parse_raw_array(good, "x.json").ok());
  struct Case {
    std::string from;
    std::string to;
    std::string named;
  };
  const std::string shape = "\"shape\": [\n    100,\n    70,\n    3\n  ]";
  ASSERT_NE(good.find(shape), std::string::npos);
  std::string many = "\"shape\": [1";
  for (int i = 0; i < 100000; ++i) many += ",1";
  const std::vector<Case> cases = {
      {"\"version\": 1", "\"version\": 3", "version 3"},
      {"\"version\": 1", "\"version\": 0", "version 0"},
      {"\"version\": 1", "\"version\": -1", "version"},
      {"\"version\": 1", "\"version\": 1.5", "version"},
      {"\"version\": 1", "\"version\": 1, \"colour\": 3", "colour"},
      {"\"weir-raw\"", "\"zarr\"", "zarr"},
      {"\"weir-raw\"", "\"we\\nir\\u001b[2J\"", "format"},
      {"\"weir-raw\"", "7", "format"},
      {shape, "\"shape\": [100, -70, 3]", "shape"},
      {shape, "\"shape\": [100, 18446744073709551615, 3]", "shape"},
      {shape, "\"shape\": [9223372036854775807, 9223372036854775807, 3]", "shape"},
      {shape, "\"shape\": [1e300, 70, 3]", "shape"},
      {shape, "\"shape\": [\"100\", 70, 3]", "shape"},
      {shape, "\"shape\": [[100], 70, 3]", "shape"},
      {shape, "\"shape\": []", "shape"},
      {shape, "\"shape\": {\"0\": 100}", "shape"},
      {shape, "\"shape\": null", "shape"},
      {shape, many + "]", "shape"},
      {shape, "\"shape\": [100, 70]", "chunks"},
      {"\"float32\"", "\"float33\"", "type"},
      {"\"float32\"", "\"record[99999999999999999999]\"", "type"},
      {"\"float32\"", "[]", "type"},
      {"\"column-major\"", "\"diagonal\"", "order"},
      {"\"little\"", "\"big\"", "byte_order"},
      {"\"offset\": 4096", "\"offset\": -4096", "offset"},
      {"\"offset\": 4096", "\"offset\": 9223372036854775807", "2^63"},
      {"\"per-aggregator\"", "\"shared\"", "files"},
      {"\"per-aggregator\"", "\"everywhere\"", "layout"},
      {"\"files\": 4", "\"files\": 0", "files"},
      {"\"files\": 4", "\"files\": 99999999", "files"},
      {"\"files\": 4", "\"pieces\": 4", "pieces"},
      {"\"chunk_shape\"", "\"chunk_form\"", "chunk_form"},
      {"    10,", "    0,", "chunks"},
  };
  for (const Case& one : cases) {
    std::string text = good;
    const auto at = text.find(one.from);
    ASSERT_NE(at, std::string::npos) << one.from;
    text.replace(at, one.from.size(), one.to);
    const auto parsed = parse_raw_array(text, "x.json");
    ASSERT_FALSE(parsed.ok()) << one.to.substr(0, 80);
    const std::string line = parsed.error().text();
    EXPECT_NE(line.find("x.json"), std::string::npos) << line;
    EXPECT_NE(line.find(one.named), std::string::npos) << line;
    for (const char c : line) ASSERT_GE(static_cast<unsigned char>(c), 0x20U) << line;
  }
}

TEST(RawArray, RefusesWhatIsNoDocument) {
  const std::string good = raw_array_json(chunked());
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), std::string("nonsense"),
        std::string(100000, '['), std::string("{\"format\": \"weir-raw\""), good + good,
        good + std::string(std::size_t{1} << 20, ' ')}) {
    EXPECT_FALSE(parse_raw_array(text, "x.json").ok());
  }
  for (std::size_t length = 0; length + 2 < good.size(); length += 7) {
    EXPECT_FALSE(parse_raw_array(good.substr(0, length), "x.json").ok());
  }
}

RawArray spread_over(std::vector<std::string> directories) {
  RawArray array = chunked();
  array.directories = std::move(directories);
  return array;
}

TEST(RawArray, FilesLieInDirectoriesInTurn) {
  const RawArray array = spread_over({"/mnt/a", "near", "./"});
  const auto again = parse_raw_array(raw_array_json(array), "x.json");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again.value(), array);
  EXPECT_EQ(data_path(array, "/data/b", 0), "/mnt/a/b.0");
  EXPECT_EQ(data_path(array, "/data/b", 1), "/data/near/b.1");
  EXPECT_EQ(data_path(array, "b", 1), "near/b.1");
  EXPECT_EQ(data_path(array, "/data/b", 3), "/mnt/a/b.3");
  // Documents that need no directories stay readable by what knows version 1 alone.
  EXPECT_NE(raw_array_json(chunked()).find("\"version\": 1"), std::string::npos);
}

TEST(RawArray, RefusesDirectoriesThatCannotBe) {
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("a/../../etc"), std::string("/a/.."),
        std::string("a\nb"), std::string("a\0b", 3), std::string("a\x1b[2J"),
        std::string("latin-\xe9"), std::string(5000, 'a')}) {
    const Status possible = spread_over({"/mnt/a", name}).check();
    ASSERT_FALSE(possible.ok()) << name;
    EXPECT_EQ(possible.error().text().find('\n'), std::string::npos);
  }
  EXPECT_FALSE(spread_over(std::vector<std::string>(5000, "a")).check().ok());
  RawArray shared = spread_over({"/mnt/a"});
  shared.layout = FileLayout::shared;
  shared.files = 1;
  EXPECT_FALSE(shared.check().ok());
}

TEST(RawArray, RefusesHostileDirectoriesOfDocuments) {
  const std::string good = raw_array_json(spread_over({"near"}));
  ASSERT_TRUE(parse_raw_array(good, "x.json").ok());
  const std::string list = "[\n    \"near\"\n  ]";
  ASSERT_NE(good.find(list), std::string::npos);
  for (const std::string wrong : {"[]", "\"near\"", "{\"0\": \"near\"}", "[7]", "[null]", "[[]]",
                                  "[\"../../home\"]", "[\"near\", \"\"]", "[\"a\\u0000b\"]"}) {
    std::string text = good;
    text.replace(text.find(list), list.size(), wrong);
    const auto parsed = parse_raw_array(text, "x.json");
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_NE(parsed.error().text().find("director"), std::string::npos) << parsed.error().text();
  }
  RawArray turned = chunked();
  turned.turn = 0x9E3779B97F4A7C15U;
  const std::string turning = raw_array_json(turned);
  ASSERT_EQ(parse_raw_array(turning, "x.json").value(), turned);
  for (const std::string wrong :
       {"9e37", "0x9e3779b97f4a7c1", "-e3779b97f4a7c15", " e3779b97f4a7c15", "9e3779b97f4a7c150",
        "", "ffffffffffffffffff"}) {
    std::string text = turning;
    text.replace(text.find("9e3779b97f4a7c15"), 16, wrong);
    const auto parsed = parse_raw_array(text, "x.json");
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_NE(parsed.error().text().find("turn"), std::string::npos) << parsed.error().text();
  }
  std::string first = good;
  first.replace(first.find("\"version\": 2"), 12, "\"version\": 1");
  EXPECT_FALSE(parse_raw_array(first, "x.json").ok());
}

}  // namespace
}  // namespace weir::storage
