// What every format of this build does alike, each by its declared abilities.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/formats/file_version.hpp"
#include "storage/formats/format.hpp"
#include "storage/formats/incomplete.hpp"
#include "storage/formats/test_description.hpp"
#include "storage/formats/test_transfer.hpp"
#include "storage/test_folder.hpp"

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
    const FileVersion before = version_of(path());
    EXPECT_FALSE(before.state.empty());
    const auto room = format().make_room(path(), steps);
    ASSERT_TRUE(room.ok()) << room.error().text();
    write_array(room.value().map.find("first")->map, 1);
    EXPECT_EQ(version_of(path()), before);
    ASSERT_TRUE(commit(path(), room.value().update, StepDurability::step).ok());
    const FileVersion after = version_of(path());
    EXPECT_NE(after.state, before.state);
    EXPECT_EQ(after.file, before.file);
  }
  const FileVersion before = version_of(path());
  std::filesystem::rename(path(), path() + ".away");  // so that its inode is not given again
  ASSERT_TRUE(make_file(format(), all_it_can(format().abilities()), path()).ok());
  EXPECT_NE(version_of(path()).file, before.file);
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
