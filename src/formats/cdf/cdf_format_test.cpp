#include "formats/cdf/cdf_format.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "formats/cdf/header.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "sections/read_section.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

FileDescription cdf_example() {
  return {.arrays = {{.name = "t",
                      .shape = shape_of({2}),
                      .type = array::ElementKind::int16,
                      .grows = true,
                      .dimension_names = {"time"}},
                     {.name = "u",
                      .shape = shape_of({2, 3, 5}),
                      .type = array::ElementKind::float32,
                      .grows = true,
                      .dimension_names = {"time", "y", "x"},
                      .fill = {std::byte{0}, std::byte{0}, std::byte{0x80}, std::byte{0x3f}},
                      .attributes = {{"_FillValue", std::vector<float>{1}},
                                     {"units", "m s-1"},
                                     {"range", std::vector<double>{1, 2}}}},
                     {.name = "x", .shape = shape_of({5}), .dimension_names = {"x"}},
                     {.name = "b",
                      .shape = shape_of({3, 3}),
                      .type = array::ElementKind::int8,
                      .dimension_names = {"y", "z"}}},
          .groups = {{"", {{"title", "a test"}, {"levels", std::vector<std::int32_t>{1, -2, 3}}}}}};
}

std::vector<std::byte> bytes_of_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(stream), {}};
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

void write_bytes(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

TEST(CdfFormat, OpensAgainAsDescribed) {
  for (const int version : {1, 2, 5}) {
    TestFolder folder;
    const std::string path = folder.path("a.nc");
    const auto map = make_file(*cdf_format(version), cdf_example(), path);
    ASSERT_TRUE(map.ok()) << map.error().text();
    const auto opened = cdf_format(5)->open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_TRUE(opened.value().refused.empty());
    ASSERT_EQ(opened.value().arrays.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(opened.value().arrays[i].description, cdf_example().arrays[i]);
      EXPECT_EQ(opened.value().arrays[i].map, map.value().arrays[i].map);
    }
    EXPECT_EQ(opened.value().groups, cdf_example().groups);
    EXPECT_EQ(bytes_of_file(path)[3], static_cast<std::byte>(version));
  }
}

TEST(CdfFormat, RecordsOfVariablesLieBetweenEachOther) {
  TestFolder folder;
  const auto map = make_file(*cdf_format(5), cdf_example(), folder.path("a.nc"));
  ASSERT_TRUE(map.ok());
  const RecordExtents& t = *map.value().find("t")->map.records();
  const RecordExtents& u = *map.value().find("u")->map.records();
  EXPECT_EQ(t.stride, 4 + 60);
  EXPECT_EQ(u.stride, t.stride);
  EXPECT_EQ(u.offset, t.offset + 4);
  // One record variable alone is not padded.
  const auto alone = make_file(*cdf_format(5),
                               {.arrays = {{.name = "b",
                                            .shape = shape_of({4, 3}),
                                            .type = array::ElementKind::int8,
                                            .grows = true}}},
                               folder.path("b.nc"));
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone.value().arrays[0].map.records()->stride, 3);
}

TEST(CdfFormat, AlignsWhatIsLarge) {
  TestFolder folder;
  FileDescription file = {
      .arrays = {{.name = "small", .shape = shape_of({3})},
                 {.name = "large", .shape = shape_of({1000})},
                 {.name = "steps", .shape = shape_of({0, 600}), .grows = true}}};
  file.alignment = 4096;
  const auto map = make_file(*cdf_format(5), file, folder.path("a.nc"));
  ASSERT_TRUE(map.ok()) << map.error().text();
  EXPECT_LT(map.value().find("small")->map.dense()->offset, 4096);
  EXPECT_EQ(map.value().find("large")->map.dense()->offset % 4096, 0);
  EXPECT_EQ(map.value().find("steps")->map.records()->offset % 4096, 0);
}

TEST(CdfFormat, RefusesWhatTheVersionCannotHold) {
  TestFolder folder;
  const auto refused = [&](int version, const ArrayDescription& array) {
    const auto map = make_file(*cdf_format(version), {.arrays = {array}}, folder.path("a.nc"));
    EXPECT_FALSE(map.ok());
    EXPECT_FALSE(std::filesystem::exists(folder.path("a.nc")));
    return map.ok() ? std::string() : map.error().text();
  };
  EXPECT_NE(refused(2, {.name = "a", .shape = shape_of({3}), .type = array::ElementKind::int64})
                .find("int64"),
            std::string::npos);
  EXPECT_NE(refused(5, {.name = "a", .shape = shape_of({3}), .type = array::ElementKind::complex64})
                .find("complex64"),
            std::string::npos);
  EXPECT_NE(refused(1, {.name = "a", .shape = shape_of({1 << 20, 1 << 9})}).find("CDF-5"),
            std::string::npos);
  EXPECT_NE(refused(2, {.name = "a", .shape = shape_of({std::int64_t{1} << 31})}).find("length"),
            std::string::npos);
  EXPECT_NE(refused(5, {.name = "a", .shape = shape_of({3, 0})}).find("length 0"),
            std::string::npos);
  refused(2, {.name = "a",
              .shape = shape_of({3}),
              .attributes = {{"n", std::vector<std::int64_t>{std::int64_t{1} << 40}}}});
  const auto large = make_file(*cdf_format(5),
                               {.arrays = {{.name = "a",
                                            .shape = shape_of({std::int64_t{1} << 33}),
                                            .type = array::ElementKind::int8}}},
                               folder.path("large.nc"));
  EXPECT_TRUE(large.ok()) << large.error().text();
  EXPECT_FALSE(make_file(*cdf_format(5),
                         {.arrays = {{.name = "a", .shape = shape_of({1, 2}), .grows = true},
                                     {.name = "b", .shape = shape_of({2, 2}), .grows = true}}},
                         folder.path("a.nc"))
                   .ok());
}

TEST(CdfFormat, StepsAreSeenWhenCommitted) {
  TestFolder folder;
  const std::string path = folder.path("a.nc");
  ASSERT_TRUE(make_file(*cdf_format(5), cdf_example(), path).ok());
  const auto room = cdf_format(5)->make_room(path, 4);
  ASSERT_TRUE(room.ok()) << room.error().text();
  for (const StoredArray& one : room.value().map.arrays) write_array(one.map, 9);
  EXPECT_EQ(cdf_format(5)->open(path).value().find("u")->map.shape, shape_of({2, 3, 5}));
  EXPECT_FALSE(cdf_format(5)->make_room(path, 1).ok());
  ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
  const auto opened = cdf_format(5)->open(path);
  EXPECT_EQ(opened.value().find("u")->map.shape, shape_of({4, 3, 5}));
  for (const StoredArray& one : opened.value().arrays) EXPECT_EQ(wrong_elements(one.map, 9), 0);
}

TEST(CdfFormat, CountsTheRecordsOfAWriterThatDidNot) {
  TestFolder folder;
  const std::string path = folder.path("a.nc");
  ASSERT_TRUE(make_file(*cdf_format(5), cdf_example(), path).ok());
  auto bytes = bytes_of_file(path);
  for (std::size_t i = 4; i < 12; ++i) bytes[i] = std::byte{0xff};
  write_bytes(path, bytes);
  EXPECT_EQ(cdf_format(5)->open(path).value().find("u")->map.shape, shape_of({2, 3, 5}));
  // Room for more of them does not look like more, either.
  const auto room = cdf_format(5)->make_room(path, 3);
  ASSERT_TRUE(room.ok()) << room.error().text();
  EXPECT_EQ(cdf_format(5)->open(path).value().find("u")->map.shape, shape_of({2, 3, 5}));
  ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
  EXPECT_EQ(cdf_format(5)->open(path).value().find("u")->map.shape, shape_of({3, 3, 5}));
}

// The records of a single array have no padding between them: behind the last one of five numbers
// of two bytes, the padding of the file has the first number of the next record.
TEST(CdfFormat, LeavesNothingOfAStepThatIsGivenUp) {
  const TestFolder folder;
  const std::string path = folder.path("a.nc");
  const FileDescription file{.arrays = {{.name = "a",
                                         .shape = shape_of({1, 5}),
                                         .type = array::ElementKind::int16,
                                         .grows = true}}};
  ASSERT_TRUE(make_file(*cdf_format(5), file, path).ok());
  const auto bytes = std::filesystem::file_size(path);
  const auto given_up = cdf_format(5)->make_room(path, 2);
  ASSERT_TRUE(given_up.ok()) << given_up.error().text();
  write_array(given_up.value().map.arrays[0].map, 9);
  const auto written = bytes_of_file(path);
  for (const bool cleared : {true, false}) {
    write_bytes(path, written);
    if (cleared) {
      ASSERT_TRUE(cdf_format(5)->clear_unfinished(path, 1).ok());
      EXPECT_EQ(std::filesystem::file_size(path), bytes);
    }
    ASSERT_TRUE(cdf_format(5)->make_room(path, 2).ok());
    const auto left = bytes_of_file(path);
    const auto second = given_up.value().map.arrays[0].map.place_of({1, 0})->offset;
    for (auto at = static_cast<std::size_t>(second); at < left.size(); ++at) {
      EXPECT_EQ(left[at], std::byte{0}) << at << (cleared ? ", cleared" : "");
    }
  }
}

// Returns whether reading an element fails because it is not in the file.
bool cannot_be_read(const StoredArray& one, const array::Indices& index) {
  const array::Box box{index, array::Indices(index.size(), 1)};
  std::vector<std::byte> element(static_cast<std::size_t>(one.map.type.bytes()));
  const auto memory =
      array::Layout::packed(box.extent, one.map.type.bytes(), array::Order::row_major);
  DataFileCache files(DataFileCache::Use::reading);
  return !read_section(one, array::Section::of(box), element.data(), memory.value(), files).ok();
}

// Whatever the bytes are: a header or an error, and what is outside the file cannot be read.
void check_damaged(const std::string& path, std::int64_t bytes) {
  const auto map = cdf_format(5)->open(path);
  if (!map) {
    EXPECT_EQ(map.error().code, ErrorCode::corrupt) << map.error().text();
    return;
  }
  for (const StoredArray& one : map.value().arrays) {
    if (one.map.shape.elements() == 0) continue;
    array::Indices last = one.map.shape.extents();
    for (std::int64_t& index : last) --index;
    const auto place = one.map.place_of(last);
    ASSERT_TRUE(place.has_value());
    EXPECT_GE(one.map.place_of(array::Indices(last.size()))->offset, 8);
    if (place->offset > bytes - one.map.type.bytes()) {
      EXPECT_TRUE(cannot_be_read(one, last));
    }
  }
}

TEST(CdfFormat, DamagedFilesAreErrorsOrReadAsFarAsTheyGo) {
  for (const int version : {2, 5}) {
    TestFolder folder;
    const std::string path = folder.path("a.nc");
    ASSERT_TRUE(make_file(*cdf_format(version), cdf_example(), path).ok());
    const auto good = bytes_of_file(path);
    const auto size = static_cast<std::int64_t>(good.size());
    const int file = ::open(path.c_str(), O_WRONLY);
    ASSERT_GE(file, 0);
    // A bit changed, and a whole number that is huge or negative.
    for (std::size_t at = 0; at + 4 <= good.size(); at += 3) {
      const std::array<std::byte, 4> high = {at % 2 == 0 ? std::byte{0x7f} : std::byte{0xff},
                                             std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
      const std::byte changed = good[at] ^ static_cast<std::byte>(1U << at % 8);
      const auto place = static_cast<off_t>(at);
      ASSERT_EQ(::pwrite(file, &changed, 1, place), 1);
      check_damaged(path, size);
      ASSERT_EQ(::pwrite(file, high.data(), 4, place & ~3), 4);
      check_damaged(path, size);
      ASSERT_EQ(::pwrite(file, good.data(), good.size(), 0), size);
    }
    for (std::int64_t length = size - 1; length >= 0; length -= 5) {
      ASSERT_EQ(::ftruncate(file, length), 0);
      check_damaged(path, length);
    }
    ::close(file);
  }
}

// Lengthened, the elements that were lost would be zeros.
TEST(CdfFormat, GivesAFileThatWasCutOffNoSteps) {
  for (const int version : {1, 2, 5}) {
    const TestFolder folder;
    const std::string path = folder.path("a.nc");
    const FileDescription file{
        .arrays = {{.name = "a", .shape = shape_of({1, 100}), .grows = true},
                   {.name = "b", .shape = shape_of({1, 100}), .grows = true}}};
    ASSERT_TRUE(make_file(*cdf_format(version), file, path).ok());
    const auto whole = std::filesystem::file_size(path);
    ASSERT_TRUE(cdf_format(version)->make_room(path, 1).ok());
    std::filesystem::resize_file(path, whole - 3);  // padding, perhaps
    EXPECT_TRUE(cdf_format(version)->make_room(path, 1).ok());
    std::filesystem::resize_file(path, whole - 4);
    const auto room = cdf_format(version)->make_room(path, 2);
    ASSERT_FALSE(room.ok());
    EXPECT_EQ(room.error().code, ErrorCode::corrupt);
    EXPECT_EQ(room.error().file, path);
    EXPECT_NE(room.error().message.find("truncated"), std::string::npos) << room.error().text();
    EXPECT_EQ(std::filesystem::file_size(path), whole - 4);
  }
}

TEST(CdfFormat, NamesWhatIsWrong) {
  const std::vector<std::byte> good =
      encode_cdf_header(CdfHeader{5, 0, {{"x", 3}}, {}, {{"a", {0}, {}, CdfType::int8, 200}}});
  struct Case {
    std::size_t at;
    int value;
    std::string named;
  };
  const std::vector<Case> cases = {
      {0, 'X', "CDF"},        {3, 4, "CDF"},          {4, 0x80, "records"},
      {15, 9, "dimensions"},  {16, 0x80, "negative"}, {17, 1, "at most 131072"},
      {24, 0x80, "negative"}, {25, 1, "a name has"},  {36, 0x80, "negative"}};
  for (const Case& one : cases) {
    auto bytes = good;
    bytes[one.at] = static_cast<std::byte>(one.value);
    const CdfParse parse = parse_cdf_header(bytes, "x.nc");
    ASSERT_FALSE(parse.header.ok()) << one.at;
    EXPECT_NE(parse.header.error().text().find(one.named), std::string::npos)
        << one.at << ": " << parse.header.error().text();
  }
  EXPECT_TRUE(parse_cdf_header(good, "x.nc").header.ok());
}

TEST(CdfFormat, ReadsAHeaderLongerThanOnePiece) {
  TestFolder folder;
  FileDescription file;
  for (int i = 0; i < 3000; ++i) {
    file.arrays.push_back({.name = "array_" + std::to_string(i), .shape = shape_of({2})});
  }
  const std::string path = folder.path("a.nc");
  ASSERT_TRUE(make_file(*cdf_format(5), file, path).ok());
  const auto opened = cdf_format(5)->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(opened.value().arrays.size(), 3000U);
}

}  // namespace
}  // namespace weir::storage
