// What every format of this build does alike, each by its declared abilities.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "formats/file_version.hpp"
#include "formats/fill_attribute.hpp"
#include "formats/format.hpp"
#include "formats/open_any.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "system/incomplete.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

class EveryFormat : public testing::TestWithParam<const Format*> {
 protected:
  [[nodiscard]] const Format& format() const { return *GetParam(); }
  [[nodiscard]] std::string path() const { return folder_.path("file"); }

 private:
  TestFolder folder_;
};

TEST_P(EveryFormat, IsFoundByItsName) {
  const auto found = find_format(format().name());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value(), &format());
  const auto none = find_format("tiff");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text().find(format().name()), std::string::npos);
}

TEST_P(EveryFormat, IsFoundByItsSuffixes) {
  for (const std::string_view suffix : GetParam()->abilities().suffixes) {
    std::string shouted(suffix);
    for (char& letter : shouted) letter = static_cast<char>(std::toupper(letter));
    for (const std::string& path : {"f" + std::string(suffix), "a.b/f" + shouted + "//"}) {
      const auto found = format_by_suffix(path);
      ASSERT_TRUE(found.ok()) << path;
      EXPECT_EQ(found.value(), GetParam()) << path;
    }
  }
}

TEST(Suffixes, ThatNoFormatHasAreRefusedWithTheKnownOnes) {
  const auto found = format_by_suffix("run.h5/f.txt");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().text().find("'run.h5/f.txt' does not end in any of "), std::string::npos);
  EXPECT_NE(found.error().text().find(".nc, .nc5, .zarr, .raw"), std::string::npos);
  EXPECT_FALSE(format_by_suffix("").ok());
}

TEST_P(EveryFormat, HoldsWhatWasWrittenThroughItsMaps) {
  const FileDescription file = all_it_can(format().abilities());
  const auto map = make_file(format(), file, path());
  ASSERT_TRUE(map.ok()) << map.error().text();
  ASSERT_EQ(map.value().arrays.size(), file.arrays.size());
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    EXPECT_EQ(map.value().arrays[i].description.name, file.arrays[i].name);
    write_array(map.value().arrays[i].map, static_cast<std::int64_t>(i));
  }
  // After all were written: none lies in another.
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    EXPECT_EQ(wrong_elements(map.value().arrays[i].map, static_cast<std::int64_t>(i)), 0)
        << file.arrays[i].name;
  }
  const auto opened = format().open(path());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_TRUE(opened.value().refused.empty());
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    const auto found = opened.value().get(file.arrays[i].name);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_EQ(found.value()->description.attributes, file.arrays[i].attributes);
    if (file.arrays[i].order == array::Order::row_major) {
      EXPECT_EQ(wrong_elements(found.value()->map, static_cast<std::int64_t>(i)), 0)
          << file.arrays[i].name;
    }
  }
}

// NaN is not equal to itself, so values are compared as bytes.
void expect_attribute(const std::vector<Attribute>& attributes, const std::string& name,
                      const Attribute::Value& expected) {
  const Attribute* const found = find_attribute(attributes, name);
  ASSERT_NE(found, nullptr) << name;
  EXPECT_STREQ(attribute_type(found->value), attribute_type(expected)) << name;
  const auto bytes = number_bytes(found->value);
  const auto wanted = number_bytes(expected);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), wanted.begin(), wanted.end())) << name;
  if (!number_kind(expected)) {
    EXPECT_EQ(found->value, expected) << name;
  }
}

TEST_P(EveryFormat, KeepsAttributesAndTheirTypes) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Attribute> all = {
      {"text",
       "Stra\xc3\x9f"
       "e"},
      {"no text", ""},
      {"texts", std::vector<std::string>{"a", "", "long enough to lie elsewhere"}},
      {"no texts", std::vector<std::string>{}},
      {"int8", std::vector<std::int8_t>{-128, 127}},
      {"int16", std::vector<std::int16_t>{-32768}},
      {"int32", std::vector<std::int32_t>{INT32_MIN, 0}},
      {"int64", std::vector<std::int64_t>{INT64_MIN, INT64_MAX}},
      {"uint8", std::vector<std::uint8_t>{255}},
      {"uint16", std::vector<std::uint16_t>{65535, 1}},
      {"uint32", std::vector<std::uint32_t>{UINT32_MAX}},
      {"uint64", std::vector<std::uint64_t>{UINT64_MAX, 0}},
      {"small uint64", std::vector<std::uint64_t>{7}},
      {"float32", std::vector<float>{0.1F, -inf}},
      {"whole float32", std::vector<float>{3}},
      {"float64", std::vector<double>{nan, 0.1, -0.0}},
      {"no float64", std::vector<double>{}},
      {"bool", std::vector<Truth>{Truth::yes, Truth::no}},
      {"one bool", std::vector<Truth>{Truth::no}}};
  const array::ElementType type = array::ElementKind::int32;
  FileDescription file = {.arrays = {{.name = "a", .shape = shape_of({2}), .type = type}}};
  const bool exact = format().name() != "cdf2" && format().name() != "cdf1";
  int refused = 0;
  for (const Attribute& one : all) {
    const auto stored = format().stored_attribute(one, &type);
    if (stored) {
      file.arrays[0].attributes.push_back(one);
    } else {
      ++refused;
      FileDescription alone = file;
      alone.arrays[0].attributes = {one};
      EXPECT_FALSE(format().lay_out(alone, path()).ok()) << one.name;
    }
  }
  file.groups = {{"", file.arrays[0].attributes}};
  ASSERT_TRUE(make_file(format(), file, path()).ok());
  const auto opened = format().open(path());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_TRUE(opened.value().left_out.empty());
  ASSERT_EQ(opened.value().groups.size(), 1U);
  for (const Attribute& one : file.arrays[0].attributes) {
    const auto stored = format().stored_attribute(one, &type);
    expect_attribute(opened.value().arrays[0].description.attributes, one.name, stored.value());
    expect_attribute(opened.value().groups[0].attributes, one.name, stored.value());
    const bool truth = number_kind(one.value) == array::ElementKind::boolean;
    if (exact && !(truth && format().name() == "cdf5")) {
      EXPECT_STREQ(attribute_type(stored.value()), attribute_type(one.value)) << one.name;
    }
  }
  const bool classic = format().name().starts_with("cdf");
  EXPECT_EQ(refused, !classic ? 0 : exact ? 2 : 5);
}

TEST_P(EveryFormat, KeepsTheAttributeOfAFillValue) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::byte> fill(sizeof nan);
  std::memcpy(fill.data(), &nan, sizeof nan);
  ArrayDescription real{
      .name = "real", .shape = shape_of({3}), .type = array::ElementKind::float32, .fill = fill};
  ArrayDescription whole{.name = "whole",
                         .shape = shape_of({3}),
                         .type = array::ElementKind::int16,
                         .fill = {std::byte{0xfe}, std::byte{0xff}}};
  for (ArrayDescription* const one : {&real, &whole}) one->attributes = with_fill_attribute(*one);
  ASSERT_TRUE(make_file(format(), {.arrays = {real, whole}}, path()).ok());
  const auto opened = format().open(path());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  for (const ArrayDescription& one : {real, whole}) {
    const ArrayDescription& found = opened.value().find(one.name)->description;
    EXPECT_EQ(found.fill, one.fill) << one.name;
    ASSERT_EQ(found.attributes.size(), 1U) << one.name;
    expect_attribute(found.attributes, fill_attribute_name, one.attributes[0].value);
    EXPECT_EQ(fill_by_attribute(found), one.fill);
  }
}

TEST_P(EveryFormat, KeepsEarlierStepsWhenThereIsRoomForMore) {
  if (!format().abilities().growing) GTEST_SKIP() << "nothing grows in this format";
  ASSERT_TRUE(make_file(format(), all_it_can(format().abilities()), path()).ok());
  for (std::int64_t steps = 2; steps <= 6; steps += 2) {
    const auto room = format().make_room(path(), steps);
    ASSERT_TRUE(room.ok()) << room.error().text();
    std::int64_t seed = 0;
    for (const char* name : {"first", "second"}) {
      const ExtentMap& map = room.value().map.find(name)->map;
      EXPECT_EQ(map.shape, shape_of({steps, 3}));
      if (steps == 2) write_array(map, ++seed);
    }
    ASSERT_TRUE(commit(path(), room.value().update, StepDurability::step).ok());
    const auto opened = format().open(path());
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_EQ(opened.value().find("first")->map.shape, shape_of({steps, 3}));
    seed = 0;
    for (const char* name : {"first", "second"}) {
      const ExtentMap& map = opened.value().find(name)->map;
      // Steps that were not written are zeros, or in no file.
      const std::int64_t wrong = wrong_elements(map, ++seed, std::vector<std::byte>(4));
      EXPECT_EQ(wrong, (steps - 2) * 3) << name;
    }
  }
  EXPECT_FALSE(format().make_room(path(), 3).ok());
}

TEST_P(EveryFormat, HasAnotherVersionAfterEachCommitAndOnlyThen) {
  if (!format().abilities().growing) GTEST_SKIP() << "nothing grows in this format";
  ASSERT_TRUE(make_file(format(), all_it_can(format().abilities()), path()).ok());
  for (std::int64_t steps = 3; steps <= 4; ++steps) {
    const FileVersion before = version_of(path()).value();
    EXPECT_FALSE(before.state.empty());
    const auto room = format().make_room(path(), steps);
    ASSERT_TRUE(room.ok()) << room.error().text();
    write_array(room.value().map.find("first")->map, 1);
    EXPECT_EQ(version_of(path()).value(), before);
    ASSERT_TRUE(commit(path(), room.value().update, StepDurability::step).ok());
    const FileVersion after = version_of(path()).value();
    EXPECT_NE(after.state, before.state);
    EXPECT_EQ(after.file, before.file);
  }
  const FileVersion before = version_of(path()).value();
  std::filesystem::rename(path(), path() + ".away");  // so that its inode is not given again
  ASSERT_TRUE(make_file(format(), all_it_can(format().abilities()), path()).ok());
  EXPECT_NE(version_of(path()).value().file, before.file);
}

// A version that could not be read is not the version of a file that is empty or missing.
TEST_P(EveryFormat, HasNoVersionWhileItCannotBeRead) {
  EXPECT_EQ(version_of(path()).value(), FileVersion());
  ASSERT_TRUE(make_file(format(), all_it_can(format().abilities()), path()).ok());
  ASSERT_TRUE(version_of(path()).ok());
  const int next = ::open("/dev/null", O_RDONLY);
  ASSERT_GE(next, 0);
  ASSERT_EQ(::close(next), 0);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit none { .rlim_cur = static_cast<rlim_t>(next), .rlim_max = before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto version = version_of(path());
  const auto opened = open_any(path());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(version.ok(), std::filesystem::is_directory(path()));  // which is not opened for it
  EXPECT_FALSE(opened.ok());
}

TEST_P(EveryFormat, RefusesWhatIsNoFileOfIts) {
  EXPECT_FALSE(format().open(path()).ok());
  ASSERT_EQ(::close(::open(path().c_str(), O_CREAT | O_WRONLY, 0666)), 0);
  const auto opened = format().open(path());
  ASSERT_FALSE(opened.ok());
  EXPECT_FALSE(opened.error().text().empty());
  EXPECT_FALSE(format().make_room(path(), 1).ok());
  EXPECT_FALSE(
      make_file(format(), {.arrays = {{.name = "", .shape = shape_of({1})}}}, path()).ok());
}

TEST_P(EveryFormat, MakesNoFolderAboveTheFileAndSaysThatThereIsNone) {
  const std::filesystem::path missing = path() + "-folder";
  const std::string inside = missing / "file";
  const auto room = format().lay_out(all_it_can(format().abilities()), inside);
  ASSERT_FALSE(room.ok());
  EXPECT_EQ(room.error().code, ErrorCode::io);
  EXPECT_EQ(room.error().system_error, ENOENT) << room.error().text();
  EXPECT_EQ(room.error().file, incomplete_path(inside));
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_P(EveryFormat, SaysWhyAFileCannotBeRead) {
  ASSERT_TRUE(make_file(format(), all_it_can(format().abilities()), path()).ok());
  // Every user but root is kept out by the file's mode; root becomes another user for a while.
  const bool is_root = ::geteuid() == 0;
  std::filesystem::permissions(path(), std::filesystem::perms::none);
  ASSERT_EQ(is_root ? ::seteuid(65534) : 0, 0);
  const auto opened = format().open(path());
  const auto room = format().make_room(path(), 2);
  ASSERT_EQ(is_root ? ::seteuid(0) : 0, 0);
  std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().text().find("Permission denied"), std::string::npos)
      << opened.error().text();
  ASSERT_FALSE(room.ok());
  EXPECT_EQ(room.error().system_error, EACCES) << room.error().text();
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, testing::ValuesIn(all_formats()),
                         [](const auto& one) { return std::string(one.param->name()); });

}  // namespace
}  // namespace weir::storage
