#include "formats/zarr/zarr_format.hpp"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>

#include "common/crc32c.hpp"
#include "formats/dimension_names.hpp"
#include "formats/element_json.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "formats/zarr/document.hpp"
#include "sections/read_section.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

FileDescription zarr_example() {
  const float fill = -2.5F;
  std::vector<std::byte> fill_bytes(sizeof(fill));
  std::memcpy(fill_bytes.data(), &fill, sizeof(fill));
  return {.arrays = {{.name = "fields/u",
                      .shape = shape_of({7, 9}),
                      .type = ElementKind::float32,
                      .chunk_extents = array::Indices{2, 4},
                      .dimension_names = {"y", "x"},
                      .fill = fill_bytes,
                      .attributes = {{"range", std::vector<double>{0.5, 2}}, {"units", "m s-1"}}},
                     {.name = "fields/s",
                      .shape = shape_of({7, 9}),
                      .chunk_extents = array::Indices{1, 2},
                      .shard_extents = array::Indices{4, 4}},
                     {.name = "turned",
                      .shape = shape_of({5, 3}),
                      .type = ElementKind::int16,
                      .order = array::Order::column_major,
                      .chunk_extents = array::Indices{2, 2}}},
          .groups = {{"", {{"title", "a test"}}},
                     {"fields", {{"levels", std::vector<std::int64_t>{1, 2}}}}}};
}

TEST(Crc32c, OfTheStandard) {
  const std::string digits = "123456789";
  EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xE3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(ZarrFormat, OpensAgainAsDescribed) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  const auto map = make_file(*zarr_format(), zarr_example(), path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  for (const bool consolidated : {true, false}) {
    if (!consolidated) {
      auto root = ZarrJson::parse(text_of(path + "/zarr.json"));
      root.erase("consolidated_metadata");
      write_text(path + "/zarr.json", root.dump());
    }
    const auto opened = zarr_format()->open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_TRUE(opened.value().refused.empty());
    EXPECT_EQ(opened.value().groups, zarr_example().groups);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto found = opened.value().get(zarr_example().arrays[i].name);
      ASSERT_TRUE(found.ok()) << found.error().text();
      EXPECT_EQ(found.value()->description, with_dimension_names(zarr_example()).arrays[i]);
      EXPECT_EQ(found.value()->map, map.value().arrays[i].map);
    }
  }
}

TEST(ZarrFormat, ChunksAreFilesOfFullLengthAndShardsHaveAnIndex) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  const auto map = make_file(*zarr_format(), zarr_example(), path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  for (const StoredArray& one : map.value().arrays) write_array(one.map, 3);
  const auto opened = zarr_format()->open(path);
  for (const StoredArray& one : opened.value().arrays) {
    EXPECT_EQ(wrong_elements(one.map, 3), 0) << one.description.name;
  }
  EXPECT_EQ(std::filesystem::file_size(path + "/fields/u/c.3.2"), 2U * 4 * 4);
  // 2 x 3 shards of 4 x 2 chunks of 16 bytes.
  EXPECT_EQ(std::filesystem::file_size(path + "/fields/s/c.1.2"), 8U * 16 + 8 * 16 + 4);
  const std::string shard = text_of(path + "/fields/s/c.1.2");
  std::uint32_t sum = 0;
  std::memcpy(&sum, shard.data() + shard.size() - 4, 4);
  EXPECT_EQ(sum, crc32c(std::as_bytes(std::span(shard).subspan(8 * 16, 8 * 16))));
  // Row 7 of the array is not there, nor are columns from 9 on: chunk 1 of the first row neither.
  std::uint64_t offset = 0;
  std::memcpy(&offset, shard.data() + 8 * 16, 8);
  EXPECT_EQ(offset, 0U);
  std::memcpy(&offset, shard.data() + 8 * 16 + 16, 8);
  EXPECT_EQ(offset, ~std::uint64_t{0});
}

TEST(ZarrFormat, MissingChunksHaveTheFillValue) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  const auto map = make_file(*zarr_format(),
                             {.arrays = {{.name = "a",
                                          .shape = shape_of({4}),
                                          .type = ElementKind::int16,
                                          .chunk_extents = array::Indices{1},
                                          .fill = test_element(ElementKind::int16, 2, 0)}}},
                             path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  write_array(map.value().arrays[0].map, 0);
  std::filesystem::remove(path + "/a/c.2");
  const auto opened = zarr_format()->open(path);
  const StoredArray& one = opened.value().arrays[0];
  EXPECT_EQ(wrong_elements(one.map, 0, one.description.fill), 0);
  std::filesystem::remove(path + "/a/c.1");
  EXPECT_EQ(wrong_elements(one.map, 0, one.description.fill), 1);
}

TEST(ZarrFormat, StepsAreSeenWhenCommitted) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  const FileDescription file = {.arrays = {{.name = "u", .shape = shape_of({0, 5}), .grows = true},
                                           {.name = "s",
                                            .shape = shape_of({0, 5}),
                                            .type = ElementKind::int32,
                                            .grows = true,
                                            .chunk_extents = array::Indices{1, 2},
                                            .shard_extents = array::Indices{2, 6}},
                                           {.name = "fixed", .shape = shape_of({3})}}};
  ASSERT_TRUE(make_file(*zarr_format(), file, path).ok());
  for (std::int64_t steps = 1; steps <= 3; ++steps) {
    const auto room = zarr_format()->make_room(path, steps);
    ASSERT_TRUE(room.ok()) << room.error().text();
    for (const StoredArray& one : room.value().map.arrays) write_array(one.map, 4);
    EXPECT_EQ(zarr_format()->open(path).value().find("u")->map.shape, shape_of({steps - 1, 5}));
    ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
    const auto opened = zarr_format()->open(path);
    EXPECT_EQ(opened.value().find("s")->map.shape, shape_of({steps, 5}));
    for (const StoredArray& one : opened.value().arrays) EXPECT_EQ(wrong_elements(one.map, 4), 0);
  }
  EXPECT_FALSE(zarr_format()->make_room(path, 2).ok());
}

// Two steps of two arrays.
FileDescription two_that_grow() {
  FileDescription file;
  for (const char* name : {"x", "y"}) {
    file.arrays.push_back({.name = name, .shape = shape_of({2, 3}), .grows = true});
  }
  return file;
}

// Programs that change one array do this: the consolidated documents stay as they are.
void change_own_document(const std::string& path, const std::string& name, std::int64_t steps) {
  const std::string file = path + "/" + name + "/zarr.json";
  auto document = ZarrJson::parse(text_of(file));
  document["shape"][0] = steps;
  document["attributes"]["note"] = "of another program";
  write_text(file, document.dump());
}

TEST(ZarrFormat, TakesAnArraysOwnDocumentForTheTruth) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  const auto made = make_file(*zarr_format(), two_that_grow(), path);
  ASSERT_TRUE(made.ok()) << made.error().text();
  const FileMap& known = made.value();
  change_own_document(path, "y", 5);
  const auto opened = zarr_format()->open(path);
  EXPECT_EQ(opened.value().find("x")->map.shape, shape_of({2, 3}));
  EXPECT_EQ(opened.value().find("y")->map.shape, shape_of({5, 3}));
  EXPECT_EQ(opened.value().find("y")->description.attributes,
            (std::vector<Attribute>{{"note", "of another program"}}));
  // A step more of the file would be one that the array has.
  const auto refused = zarr_format()->make_room_behind(path, 3, known, 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("\"y\" has 5 steps, but this run expects 2"),
            std::string::npos)
      << refused.error().text();
  change_own_document(path, "x", 5);
  const auto room = zarr_format()->make_room_behind(path, 6, zarr_format()->open(path).value(), 5);
  ASSERT_TRUE(room.ok()) << room.error().text();
  // Killed before the root's document is replaced, in which the copies were older.
  HeaderUpdate beginning = room.value().update;
  beginning.changes.pop_back();
  ASSERT_TRUE(commit(path, beginning, StepDurability::step).ok());
  for (const char* name : {"x", "y"}) {
    EXPECT_EQ(zarr_format()->open(path).value().find(name)->map.shape, shape_of({5, 3}));
  }
  ASSERT_TRUE(commit(path, room.value().update, StepDurability::step).ok());
  const ZarrJson root = ZarrJson::parse(text_of(path + "/zarr.json"));
  for (const char* name : {"x", "y"}) {
    const ZarrJson& document = root["consolidated_metadata"]["metadata"][name];
    EXPECT_EQ(document["shape"][0], 6);
    EXPECT_EQ(document["attributes"]["note"], "of another program");
  }
}

// As Python's json writes them. A step leaves them as they are.
TEST(ZarrFormat, KeepsNumbersOfOthersThatJsonDoesNotHave) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  ASSERT_TRUE(make_file(*zarr_format(), two_that_grow(), path).ok());
  for (const char* const document : {"/zarr.json", "/x/zarr.json"}) {
    std::string text = text_of(path + document);
    const std::string attributes = R"("attributes": {)";
    const std::size_t x = text.find(attributes, text.find("\"array\""));
    ASSERT_NE(x, std::string::npos);
    std::string added = R"("a": NaN, "b": [-Infinity, Infinity], "c": "NaN")";
    if (text[x + attributes.size()] != '}') added += ", ";
    text.insert(x + attributes.size(), added);
    write_text(path + document, text);
  }
  const auto expect_there = [&] {
    const auto opened = zarr_format()->open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    const auto& found = opened.value().find("x")->description.attributes;
    ASSERT_EQ(found.size(), 3U);
    EXPECT_TRUE(std::isnan(std::get<std::vector<double>>(found[0].value).at(0)));
    EXPECT_EQ(found[1].value, Attribute::Value(std::vector<double>{-INFINITY, INFINITY}));
    EXPECT_EQ(found[2].value, Attribute::Value(std::string("NaN")));
    EXPECT_TRUE(zarr_format()->unfinished(path).value().empty());
  };
  expect_there();
  const auto room = zarr_format()->make_room(path, 3);
  ASSERT_TRUE(room.ok()) << room.error().text();
  ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
  expect_there();
  EXPECT_NE(text_of(path + "/x/zarr.json").find(R"("a": NaN)"), std::string::npos);
  EXPECT_EQ(zarr_format()->open(path).value().find("x")->map.shape, shape_of({3, 3}));
}

TEST(ZarrFormat, TakesNoDocumentOfAStepThatIsNotCommitted) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  ASSERT_TRUE(make_file(*zarr_format(), two_that_grow(), path).ok());
  const auto steps = [&] {
    const auto opened = zarr_format()->open(path);
    return std::pair(opened.value().find("x")->map.shape.extent(0),
                     opened.value().find("y")->map.shape.extent(0));
  };
  const auto kill_before_the_end = [&](const Room& room) {
    HeaderUpdate update = room.update;
    update.changes.pop_back();  // the root's document
    ASSERT_TRUE(commit(path, update, StepDurability::step).ok());
  };
  kill_before_the_end(zarr_format()->make_room(path, 9).value());
  EXPECT_EQ(text_of(path + "/x/zarr.json"), text_of(path + "/y/zarr.json"));
  EXPECT_EQ(ZarrJson::parse(text_of(path + "/x/zarr.json"))["shape"][0], 9);
  EXPECT_EQ(steps(), std::pair(2L, 2L));
  // The next run announces another step before the documents of the first attempt are replaced.
  ASSERT_TRUE(zarr_format()->make_room(path, 3).ok());
  EXPECT_EQ(steps(), std::pair(2L, 2L));
  kill_before_the_end(zarr_format()->make_room(path, 3).value());
  EXPECT_EQ(steps(), std::pair(2L, 2L));
  // What another program adds to such an array is seen.
  change_own_document(path, "y", 4);
  EXPECT_EQ(steps(), std::pair(2L, 4L));
}

// Records what happens to the files of a folder from its construction on.
class FolderEvents {
 public:
  explicit FolderEvents(const std::string& folder) {
    EXPECT_GE(::inotify_add_watch(queue_, folder.c_str(),
                                  IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO),
              0);
  }
  ~FolderEvents() { ::close(queue_); }
  FolderEvents(const FolderEvents&) = delete;
  FolderEvents& operator=(const FolderEvents&) = delete;

  // Such as "create zarr.json.new", in their order.
  [[nodiscard]] std::vector<std::string> take() const {
    alignas(inotify_event) std::array<char, 16384> bytes{};
    const ssize_t count = ::read(queue_, bytes.data(), bytes.size());
    std::vector<std::string> events;
    for (ssize_t at = 0; at < count;) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof(event));
      const char* const name = bytes.data() + at + sizeof(event);
      const char* what = "delete ";
      if ((event.mask & IN_CREATE) != 0) what = "create ";
      if ((event.mask & IN_MODIFY) != 0) what = "modify ";
      if ((event.mask & IN_MOVED_FROM) != 0) what = "move from ";
      if ((event.mask & IN_MOVED_TO) != 0) what = "move to ";
      events.push_back(what + std::string(event.len == 0 ? "" : name));
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
    return events;
  }

 private:
  int queue_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
};

// The announcement must be whole as long as it is there: a run that is killed while it is empty
// would leave arrays' documents of a step that nothing tells to be uncommitted.
TEST(ZarrFormat, ACommitRenamesTheAnnouncementAndDoesNotWriteIt) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  ASSERT_TRUE(make_file(*zarr_format(), two_that_grow(), path).ok());
  const auto room = zarr_format()->make_room(path, 3);
  ASSERT_TRUE(room.ok()) << room.error().text();
  const FolderEvents events(path);
  ASSERT_TRUE(commit(path, room.value().update, StepDurability::step).ok());
  EXPECT_EQ(events.take(),
            (std::vector<std::string>{"move from zarr.json.new", "move to zarr.json"}));
}

// A run that is killed while it renews the copies of documents in the root's document leaves
// nothing that looks like the announcement of a step: documents of another program would seem to
// belong to that step, and the next run would remove its data.
TEST(ZarrFormat, RenewsTheRootsDocumentBeforeItAnnouncesAStep) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  ASSERT_TRUE(make_file(*zarr_format(), two_that_grow(), path).ok());
  change_own_document(path, "x", 3);
  change_own_document(path, "y", 3);
  const FolderEvents events(path);
  ASSERT_TRUE(zarr_format()->make_room(path, 4).ok());
  std::vector<std::string> seen = events.take();
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen, (std::vector<std::string>{"create zarr.json.renewed", "modify zarr.json.renewed",
                                            "move from zarr.json.renewed", "move to zarr.json",
                                            "create zarr.json.new", "modify zarr.json.new"}));
}

TEST(ZarrFormat, RefusesToCommitAnAnnouncementThatAnotherProgramHasChanged) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  ASSERT_TRUE(make_file(*zarr_format(), two_that_grow(), path).ok());
  const auto room = zarr_format()->make_room(path, 3);
  ASSERT_TRUE(room.ok()) << room.error().text();
  write_text(path + "/zarr.json.new", "{}");
  const Status refused = commit(path, room.value().update, StepDurability::none);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("zarr.json.new"), std::string::npos);
  EXPECT_EQ(zarr_format()->open(path).value().steps(), 2);
  // The failed commit announces the step again, so that it can be repeated.
  ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
  EXPECT_EQ(zarr_format()->open(path).value().steps(), 3);
}

TEST(ZarrFormat, RefusesAnArrayWhoseOwnDocumentIsDamaged) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  ASSERT_TRUE(make_file(*zarr_format(), two_that_grow(), path).ok());
  write_text(path + "/y/zarr.json", "{");
  const auto opened = zarr_format()->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_NE(opened.value().find("x"), nullptr);
  ASSERT_EQ(opened.value().refused.size(), 1U);
  EXPECT_EQ(opened.value().refused[0].name, "y");
  EXPECT_EQ(zarr_format()->unfinished(path).value().size(), 1U);
  EXPECT_FALSE(zarr_format()->make_room(path, 3).ok());
  // A store may have consolidated documents alone.
  std::filesystem::remove(path + "/y/zarr.json");
  EXPECT_EQ(zarr_format()->open(path).value().arrays.size(), 2U);
}

// Returns what reading the array "s" fails with; "" where it does not.
std::string failure_of_reading(const std::string& path) {
  const auto opened = zarr_format()->open(path);
  const StoredArray& one = *opened.value().get("s").value();
  std::vector<std::byte> data(16);
  const auto memory = array::Layout::packed(one.map.shape.extents(), 2, array::Order::row_major);
  DataFileCache files(DataFileCache::Use::reading);
  const Status read = read_section(one, array::Section::of(one.map.shape.box()), data.data(),
                                   memory.value(), files);
  return read.ok() ? "" : read.error().text();
}

TEST(ZarrFormat, ReadsShardsOfAnotherOrder) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  const auto map = make_file(*zarr_format(),
                             {.arrays = {{.name = "s",
                                          .shape = shape_of({8}),
                                          .type = ElementKind::int16,
                                          .chunk_extents = array::Indices{2},
                                          .shard_extents = array::Indices{8}}}},
                             path);
  ASSERT_TRUE(map.ok());
  write_array(map.value().arrays[0].map, 1);
  // Chunks 2 and 0 change places, and chunk 1 goes.
  std::string shard = text_of(path + "/s/c.0");
  std::swap_ranges(shard.begin(), shard.begin() + 4, shard.begin() + 8);
  std::array<std::uint64_t, 8> index = {8, 4, ~0ULL, ~0ULL, 0, 4, 12, 4};
  std::memcpy(shard.data() + 16, index.data(), sizeof(index));
  const auto set_sum = [&] {
    const std::uint32_t sum = crc32c(std::as_bytes(std::span(shard).subspan(16, sizeof(index))));
    std::memcpy(shard.data() + 16 + sizeof(index), &sum, sizeof(sum));
    write_text(path + "/s/c.0", shard);
  };
  set_sum();
  const auto opened = zarr_format()->open(path);
  ASSERT_EQ(opened.value().arrays.size(), 1U);
  const ExtentMap& found = opened.value().arrays[0].map;
  EXPECT_FALSE(found.place_of({2}).has_value());
  EXPECT_EQ(wrong_elements(found, 1), 2);

  const std::vector<std::pair<std::function<void()>, std::string>> damages = {
      {[&] { index[0] = 1000; }, "outside"},
      {[&] { index[0] = ~0ULL - 1; }, "outside"},
      {[&] { index = {8, 3, ~0ULL, ~0ULL, 0, 4, 12, 4}; }, "3 bytes"}};
  for (const auto& [damage, named] : damages) {
    damage();
    std::memcpy(shard.data() + 16, index.data(), sizeof(index));
    set_sum();
    const std::string failure = failure_of_reading(path);
    EXPECT_NE(failure.find(named), std::string::npos) << failure;
  }
  shard[20] ^= 1;
  write_text(path + "/s/c.0", shard);
  EXPECT_NE(failure_of_reading(path).find("checksum"), std::string::npos);
  write_text(path + "/s/c.0", "short");
  EXPECT_NE(failure_of_reading(path).find("shorter than its index"), std::string::npos);
}

// zarr-python 3.1 writes them so.
constexpr const char* of_zarr_python = R"({"zarr_format": 3, "node_type": "array",
  "shape": [7, 9], "data_type": "float32",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 4]}},
  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
  "fill_value": 0.0, "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
  "attributes": {"units": "m", "nested": {"a": 1}}, "dimension_names": ["y", null],
  "storage_transformers": []})";

TEST(ZarrFormat, ReadsForeignDocuments) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  std::filesystem::create_directories(path);
  write_text(path + "/zarr.json", of_zarr_python);
  const auto opened = zarr_format()->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  ASSERT_EQ(opened.value().arrays.size(), 1U);
  const StoredArray& one = opened.value().arrays[0];
  EXPECT_EQ(one.map.byte_order, ByteOrder::big);
  EXPECT_EQ(one.map.files.path(11), path + "/c/3/2");
  EXPECT_EQ(one.description.attributes, (std::vector<Attribute>{{"units", "m"}}));
  write_array(one.map, 6);
  EXPECT_EQ(wrong_elements(one.map, 6), 0);
}

TEST(ZarrFormat, RefusesForeignDocumentsByName) {
  struct Case {
    std::string from;
    std::string to;
    std::string named;
  };
  const std::vector<Case> cases = {
      {R"("shape": [7, 9])", R"("shape": [7, -9])", "shape"},
      {R"("shape": [7, 9])", R"("shape": [9223372036854775807, 9223372036854775807])", "elements"},
      {R"("shape": [7, 9])", R"("shape": [7, 18446744073709551615])", "shape"},
      {R"("shape": [7, 9])", R"("shape": "7 x 9")", "shape"},
      {R"("shape": [7, 9])", R"("shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])", "shape"},
      {R"("shape": [7, 9])", R"("shape": [7])", "dimensions"},
      {R"([2, 4])", R"([0, 4])", "chunk shape"},
      {R"([2, 4])", R"([4611686018427387904, 4611686018427387904])", "2^63"},
      {R"("float32")", R"("string")", "encoded by bytes"},
      {R"("float32")", R"({"name": "numpy.datetime64"})", "neither numbers"},
      {R"("regular")", R"("rectilinear")", "rectilinear"},
      {R"("default")", R"("hashed")", "hashed"},
      {R"("separator": "/")", R"("separator": "/../")", "separator"},
      {R"("fill_value": 0.0)", R"("fill_value": "many")", "fill value"},
      {R"("endian": "big"}})", R"("endian": "big"}}, {"name": "lzma"})", "lzma"},
      {R"("name": "bytes")", R"("name": "vlen-utf8")", "vlen-utf8"},
      {R"("codecs": [)", R"("codecs": [{"name": "transpose", "configuration": {"order": [1, 7]}},)",
       "transposed"},
      {R"("codecs": [)",
       R"("codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
                     {"name": "transpose", "configuration": {"order": [1, 0]}},)",
       "more than once"},
      {R"("storage_transformers": [])", R"("storage_transformers": [{"name": "x"}])",
       "transformers"}};
  for (const Case& one : cases) {
    std::string text = of_zarr_python;
    const auto at = text.find(one.from);
    ASSERT_NE(at, std::string::npos) << one.from;
    text.replace(at, one.from.size(), one.to);
    const auto parsed = parse_zarr_array(ZarrJson::parse(text), "a", {});
    const auto* const reason = std::get_if<std::string>(&parsed);
    ASSERT_NE(reason, nullptr) << one.to;
    EXPECT_NE(reason->find(one.named), std::string::npos) << *reason;
  }
}

TEST(ZarrFormat, NamesCannotLeaveTheFolder) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  std::filesystem::create_directories(path);
  ZarrJson root = {{"zarr_format", 3}, {"node_type", "group"}};
  root["consolidated_metadata"]["metadata"] = ZarrJson::object();
  for (const char* name : {"../outside", "/etc/passwd", "a/../../b", "a//b", "a\nb"}) {
    root["consolidated_metadata"]["metadata"][name] = ZarrJson::parse(of_zarr_python);
  }
  write_text(path + "/zarr.json", root.dump());
  const auto opened = zarr_format()->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_TRUE(opened.value().arrays.empty());
  EXPECT_EQ(opened.value().refused.size(), 5U);
}

TEST(ZarrFormat, DamagedDocumentsAreErrorsOrReasons) {
  TestFolder folder;
  const std::string path = folder.path("a.zarr");
  ASSERT_TRUE(make_file(*zarr_format(), zarr_example(), path).ok());
  const std::string good = text_of(path + "/zarr.json");
  // In place: a file that is emptied and written again is flushed by some file systems.
  std::fstream file(path + "/zarr.json", std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t at, char character) {
    file.seekp(static_cast<std::streamoff>(at)).put(character).flush();
  };
  for (std::size_t at = 0; at < good.size(); at += 11) {
    put(at, at % 2 == 0 ? '9' : ']');
    const auto opened = zarr_format()->open(path);
    if (!opened) {
      EXPECT_FALSE(opened.error().text().empty());
    }
    put(at, good[at]);
  }
  for (const std::string& text : {std::string(), std::string(100000, '['), good.substr(0, 500),
                                  std::string("{\"zarr_format\": 2}"), std::string("[3]")}) {
    write_text(path + "/zarr.json", text);
    EXPECT_FALSE(zarr_format()->open(path).ok()) << text.substr(0, 20);
  }
  EXPECT_FALSE(zarr_format()->open(folder.path("none")).ok());
  // What is there is not replaced: it may be anything.
  EXPECT_FALSE(make_file(*zarr_format(), zarr_example(), path).ok());
}

TEST(FillValue, GoesThroughJsonUnchanged) {
  const auto same = [](const array::ElementType& type, const std::vector<std::byte>& element) {
    const auto text = fill_value_json(type, element).dump();
    EXPECT_EQ(parse_fill_value(type, ZarrJson::parse(text)), element) << type.name() << ' ' << text;
  };
  for (const ElementKind kind :
       {ElementKind::int8, ElementKind::int16, ElementKind::int32, ElementKind::int64,
        ElementKind::uint8, ElementKind::uint16, ElementKind::uint32, ElementKind::uint64,
        ElementKind::float16, ElementKind::float32, ElementKind::float64, ElementKind::complex64,
        ElementKind::complex128}) {
    const array::ElementType type(kind);
    const auto bytes = static_cast<std::size_t>(type.bytes());
    for (const int value : {0x00, 0xff, 0x7f, 0x80, 0x3c, 0x12}) {
      same(type, std::vector<std::byte>(bytes, static_cast<std::byte>(value)));
    }
  }
  const auto half = [](const char* text) {
    return parse_fill_value(ElementKind::float16, ZarrJson::parse(text));
  };
  EXPECT_EQ(half("1.0"), (std::vector<std::byte>{std::byte{0}, std::byte{0x3c}}));
  EXPECT_EQ(half("-2.5"), (std::vector<std::byte>{std::byte{0}, std::byte{0xc1}}));
  EXPECT_FALSE(half("0.1").has_value());
  EXPECT_FALSE(half("1e300").has_value());
  EXPECT_FALSE(parse_fill_value(ElementKind::int8, 200).has_value());
  EXPECT_FALSE(parse_fill_value(ElementKind::uint8, -1).has_value());
}

}  // namespace
}  // namespace weir::storage
