// Documents of raw files: what each version says, and what is refused.
#include "formats/raw/raw_document.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/test_description.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

// The first Weirs wrote such documents.
constexpr std::string_view version_1 = R"({
  "format": "weir-raw",
  "version": 1,
  "shape": [100, 70, 3],
  "type": "float32",
  "order": "column-major",
  "byte_order": "little",
  "offset": 4096,
  "chunk_shape": [10, 70, 2],
  "chunk_reason": "as asked",
  "layout": "per-aggregator",
  "files": 4
})";
constexpr std::string_view version_2 = R"({
  "format": "weir-raw",
  "version": 2,
  "shape": [100, 70, 3],
  "type": "float32",
  "order": "row-major",
  "byte_order": "little",
  "offset": 0,
  "chunk_shape": [10, 70, 2],
  "layout": "per-rank",
  "files": 4,
  "turn": "9e3779b97f4a7c15",
  "directories": ["/mnt/a", "near", "./"]
})";

std::string replaced(std::string_view text, const std::string& from, const std::string& to) {
  std::string changed(text);
  const auto at = changed.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) changed.replace(at, from.size(), to);
  return changed;
}

// Refused in one line that names the document and the words.
void expect_refused(const std::string& text, const std::string& words) {
  const auto parsed = parse_raw_file(text, "x.json");
  ASSERT_FALSE(parsed.ok()) << text.substr(0, 1000);
  EXPECT_EQ(parsed.error().code, ErrorCode::corrupt);
  const std::string line = parsed.error().text();
  EXPECT_NE(line.find("x.json"), std::string::npos) << line;
  EXPECT_NE(line.find(words), std::string::npos) << line;
  for (const char c : line) ASSERT_GE(static_cast<unsigned char>(c), 0x20U) << line;
}

RawFile spread(std::vector<std::string> directories = {}) {
  FileDescription file{.arrays = {{.name = "a",
                                   .shape = shape_of({100, 70, 3}),
                                   .type = ElementKind::float32,
                                   .order = array::Order::column_major,
                                   .chunk_extents = array::Indices({10, 70, 2}),
                                   .chunk_reason = "as asked"}},
                       .in_place = Placement{.layout = FileLayout::per_aggregator, .files = 4}};
  file.in_place->directories = std::move(directories);
  return place_raw_arrays(file).value();
}

std::string json_of(const RawFile& file) { return raw_file_json(file).value(); }

TEST(RawDocument, OfVersion1IsAFileOfOneArray) {
  const auto file = parse_raw_file(version_1, "/a/b.json");
  ASSERT_TRUE(file.ok()) << file.error().text();
  ASSERT_EQ(file.value().arrays.size(), 1U);
  const RawFileArray& array = file.value().arrays[0];
  EXPECT_EQ(array.offset, 4096);
  EXPECT_EQ(array.description, (ArrayDescription{.name = "b",
                                                 .shape = shape_of({100, 70, 3}),
                                                 .type = ElementKind::float32,
                                                 .order = array::Order::column_major,
                                                 .chunk_extents = array::Indices({10, 70, 2}),
                                                 .chunk_reason = "as asked"}));
  EXPECT_EQ(file.value().placement, (Placement{.layout = FileLayout::per_aggregator, .files = 4}));
  EXPECT_EQ(file.value().data_files("/a/b").path(3), "/a/b.3");
  const std::string dense = R"({"format": "weir-raw", "version": 1, "shape": [1099511627776],
      "type": "record[24]", "order": "row-major", "byte_order": "little", "offset": 0,
      "layout": "shared", "files": 1})";
  const auto alone = parse_raw_file(dense, "/a/..json");
  ASSERT_TRUE(alone.ok()) << alone.error().text();
  EXPECT_EQ(alone.value().arrays[0].description.name, "array");  // "." is no name of an array
  EXPECT_EQ(alone.value().data_files("/a/b").path(0), "/a/b");
  EXPECT_EQ(alone.value().data_bytes(), std::int64_t{24} << 40);
}

TEST(RawDocument, OfVersion2HasDirectoriesAndATurn) {
  const auto file = parse_raw_file(version_2, "b.json");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file.value().placement, (Placement{.layout = FileLayout::per_rank,
                                               .files = 4,
                                               .turn = 0x9E3779B97F4A7C15U,
                                               .directories = {"/mnt/a", "near", "./"}}));
  EXPECT_EQ(file.value().data_files("/data/b").path(0), "/mnt/a/b.0");
  EXPECT_EQ(file.value().data_files("/data/b").path(1), "/data/near/b.1");
  EXPECT_EQ(file.value().data_files("b").path(1), "near/b.1");
  EXPECT_EQ(file.value().data_files("/data/b").path(3), "/mnt/a/b.3");
}

TEST(RawDocument, OfSeveralDataFilesIsReadBackAndOfVersion5) {
  for (const RawFile& file :
       {spread(), spread({"/mnt/a", "near"}), parse_raw_file(version_1, "x.json").value(),
        parse_raw_file(version_2, "x.json").value()}) {
    const std::string text = json_of(file);
    EXPECT_NE(text.find("\"version\": 5"), std::string::npos);
    const auto again = parse_raw_file(text, "x.json");
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(again.value().arrays, file.arrays);
    EXPECT_EQ(again.value().placement, file.placement);
  }
  // Documents of a single data file stay readable by earlier Weirs.
  const auto shared = place_raw_arrays({.arrays = {{.name = "a", .shape = shape_of({2})}}});
  EXPECT_NE(json_of(shared.value()).find("\"version\": 3"), std::string::npos);
}

TEST(RawDocument, OfSeveralDataFilesIsRefusedWhereItCannotBe) {
  const auto refused = [](const auto& change) {
    RawFile file = spread();
    ASSERT_TRUE(file.check().ok());
    change(file);
    const Status possible = file.check();
    ASSERT_FALSE(possible.ok());
    EXPECT_EQ(possible.error().text().find('\n'), std::string::npos);
  };
  refused([](RawFile& file) { file.placement.files = 0; });
  refused([](RawFile& file) { file.arrays[0].description.chunk_extents = std::nullopt; });
  refused([](RawFile& file) { file.arrays[0].offset = INT64_MAX; });
  refused([](RawFile& file) { file.arrays[0].description.chunk_extents = array::Indices({1, 2}); });
  refused([](RawFile& file) { file.arrays[0].description.grows = true; });
  refused([](RawFile& file) { file.arrays.push_back({{.name = "b", .shape = shape_of({2})}, 0}); });
  refused([](RawFile& file) { file.arrays.clear(); });
  refused([](RawFile& file) { file.placement.layout = FileLayout::shared; });
  refused([](RawFile& file) {
    file.placement = {.layout = FileLayout::shared, .directories = {"/mnt/a"}};
  });
}

// One member of a good document is replaced by another one.
TEST(RawDocument, IsRefusedWhereItIsHostile) {
  std::string many = "[1";
  for (int i = 0; i < 100000; ++i) many += ",1";
  const std::string shape = "[100, 70, 3]";
  const std::vector<std::vector<std::string>> cases = {
      {"\"version\": 1", "\"version\": 6", "version 6; this Weir reads versions 1 to 5"},
      {"\"version\": 1", "\"version\": 0", "version 0"},
      {"\"version\": 1", "\"version\": -1", "version"},
      {"\"version\": 1", "\"version\": 1.5", "version"},
      {"\"weir-raw\"", "\"zarr\"", "zarr"},
      {"\"weir-raw\"", "\"we\\nir\\u001b[2J\"", "format"},
      {"\"weir-raw\"", "7", "format"},
      {shape, "[100, -70, 3]", "shape"},
      {shape, "[100, 18446744073709551615, 3]", "shape"},
      {shape, "[9223372036854775807, 9223372036854775807, 3]", "shape"},
      {shape, "[1e300, 70, 3]", "shape"},
      {shape, "[\"100\", 70, 3]", "shape"},
      {shape, "[[100], 70, 3]", "shape"},
      {shape, "[]", "shape"},
      {shape, "{\"0\": 100}", "shape"},
      {shape, "null", "shape"},
      {shape, many + "]", "shape"},
      {shape, "[100, 70]", "chunks"},
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
      {"\"files\": 4", "\"pieces\": 4", "files"},
      {"\"layout\"", "\"arrangement\"", "layout"},
      {"\"chunk_shape\"", "\"chunk_form\"", "chunks"},
      {"\"as asked\"", "7", "chunk_reason"},
      {"[10,", "[0,", "chunk"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one[1].substr(0, 80));
    expect_refused(replaced(version_1, one[0], one[1]), one[2]);
  }
}

TEST(RawDocument, IsRefusedWhereItIsNone) {
  const std::string good(version_1);
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), std::string("nonsense"),
        std::string(100000, '['), std::string("{\"format\": \"weir-raw\""), good + good,
        good + std::string(most_raw_document_bytes, ' ')}) {
    EXPECT_FALSE(parse_raw_file(text, "x.json").ok());
  }
  for (const std::string& text : {good, json_of(spread({"near"}))}) {
    for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
      EXPECT_FALSE(parse_raw_file(text.substr(0, length), "x.json").ok());
    }
  }
}

TEST(RawDocument, HasNoHostileDataFiles) {
  const std::string good = json_of(spread({"near"}));
  for (const char* const wrong : {"[]", "7", "null", "{}", "\"shared\""}) {
    const auto begin = good.find("\"data_files\": {") + std::string_view("\"data_files\": ").size();
    const auto end = good.find('}', begin) + 1;
    std::string text = good;
    text.replace(begin, end - begin, wrong);
    EXPECT_FALSE(parse_raw_file(text, "x.json").ok()) << wrong;
  }
  for (const char* const wrong : {"[]", "\"near\"", "{\"0\": \"near\"}", "[7]", "[null]", "[[]]",
                                  "[\"../../home\"]", "[\"near\", \"\"]", "[\"a\\u0000b\"]"}) {
    expect_refused(replaced(version_2, "[\"/mnt/a\", \"near\", \"./\"]", wrong), "director");
    expect_refused(replaced(good, "[\n      \"near\"\n    ]", wrong), "director");
  }
  for (const char* const wrong :
       {"9e37", "0x9e3779b97f4a7c1", "-e3779b97f4a7c15", " e3779b97f4a7c15", "9e3779b97f4a7c150",
        "", "ffffffffffffffffff"}) {
    expect_refused(replaced(version_2, "9e3779b97f4a7c15", wrong), "turn");
  }
}

TEST(RawDocument, HasDirectoriesThatItCanHold) {
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("a/../../etc"), std::string("/a/.."),
        std::string("a\nb"), std::string("a\0b", 3), std::string("a\x1b[2J"),
        std::string("latin-\xe9"), std::string(5000, 'a')}) {
    RawFile file = spread();
    file.placement.directories = {"/mnt/a", name};
    const Status possible = file.check();
    ASSERT_FALSE(possible.ok()) << name;
    EXPECT_EQ(possible.error().text().find('\n'), std::string::npos);
  }
  RawFile file = spread();
  file.placement.directories.assign(std::size_t{most_directories}, std::string(3072, 'a'));
  EXPECT_TRUE(parse_raw_file(json_of(file), "x.json").ok());
  file.placement.directories.emplace_back("a");
  EXPECT_FALSE(file.check().ok());
}

}  // namespace
}  // namespace weir::storage
