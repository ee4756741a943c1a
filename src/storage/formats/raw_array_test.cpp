#include "storage/formats/raw_array.hpp"

#include <gtest/gtest.h>

#include <string>
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
      {"\"version\": 1", "\"version\": 2", "version 2"},
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

}  // namespace
}  // namespace weir::storage
