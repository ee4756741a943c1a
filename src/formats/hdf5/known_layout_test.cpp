#include "formats/known_layout.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "formats/additions.hpp"
#include "formats/cdf/cdf_format.hpp"
#include "formats/hdf5/hdf5_format.hpp"
#include "formats/hdf5/test_example.hpp"
#include "formats/hdf5/write_driver.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "system/incomplete.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

// A format that counts how often it lays out.
class CountedFormat final : public Format {
 public:
  [[nodiscard]] std::string_view name() const override { return "hdf5"; }
  [[nodiscard]] FormatAbilities abilities() const override { return hdf5_format()->abilities(); }
  Result<Room> lay_out(const FileDescription& file, const std::string& path) const override {
    ++laid_out;
    return hdf5_format()->lay_out(file, path);
  }
  Result<FileMap> open(const std::string& path) const override { return hdf5_format()->open(path); }
  Result<Room> make_room(const std::string& path, std::int64_t steps) const override {
    return hdf5_format()->make_room(path, steps);
  }
  Result<HeaderUpdate> add(const std::string& path, const Additions& added) const override {
    return hdf5_format()->add(path, added);
  }
  Result<HeaderUpdate> drop_steps(const std::string& path, std::int64_t steps,
                                  std::int64_t before) const override {
    return hdf5_format()->drop_steps(path, steps, before);
  }
  Result<Attribute::Value> stored_attribute(const Attribute& attribute,
                                            const array::ElementType* array) const override {
    return hdf5_format()->stored_attribute(attribute, array);
  }
  Status clear_unfinished(const std::string& path, std::int64_t steps) const override {
    return hdf5_format()->clear_unfinished(path, steps);
  }
  Result<std::vector<std::string>> unfinished(const std::string& path) const override {
    return hdf5_format()->unfinished(path);
  }
  mutable int laid_out = 0;
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(KnownLayout, AFileLikeTheOneBeforeHasTheSameBytesAndItsOwnPlaces) {
  TestFolder folder;
  const CountedFormat format;
  KnownLayout layout;
  std::vector<Room> rooms;
  for (const char* name : {"a.h5", "b.h5", "c.h5"}) {
    auto room = layout.lay_out(format, hdf5_example(), folder.path(name));
    ASSERT_TRUE(room.ok()) << room.error().text();
    EXPECT_FALSE(room.value().laid_out);
    rooms.push_back(std::move(room).value());
  }
  EXPECT_EQ(format.laid_out, 1);
  const std::string first = content_of(incomplete_path(folder.path("a.h5")));
  EXPECT_FALSE(first.empty());
  for (const char* name : {"b.h5", "c.h5"}) {
    EXPECT_EQ(content_of(incomplete_path(folder.path(name))), first) << name;
  }
  for (std::size_t i = 0; i < rooms[0].map.arrays.size(); ++i) {
    const StoredArray& one = rooms[2].map.arrays[i];
    EXPECT_EQ(one.map.files.path(0), incomplete_path(folder.path("c.h5")));
    EXPECT_EQ(one.description, rooms[0].map.arrays[i].description);
  }
  EXPECT_EQ(rooms[2].free_from, rooms[0].free_from);
  EXPECT_EQ(rooms[2].update, rooms[0].update);

  // What is written by the known map is what a reader finds.
  const std::string path = folder.path("c.h5");
  std::int64_t seed = 0;
  for (const StoredArray& one : rooms[2].map.arrays) write_array(one.map, ++seed);
  ASSERT_TRUE(commit(path, rooms[2].update, StepDurability::none).ok());
  const auto opened = hdf5_format()->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  ASSERT_EQ(opened.value().arrays.size(), 3U);
  seed = 0;
  for (const StoredArray& one : rooms[2].map.arrays) {
    const auto found = opened.value().get(one.description.name);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_EQ(wrong_elements(found.value()->map, ++seed), 0) << one.description.name;
  }
}

TEST(KnownLayout, AnotherDescriptionIsLaidOutAnew) {
  TestFolder folder;
  const CountedFormat format;
  KnownLayout layout;
  FileDescription file = hdf5_example();
  ASSERT_TRUE(layout.lay_out(format, file, folder.path("a.h5")).ok());
  file.arrays[0].attributes[0].value = "km s-1";
  ASSERT_TRUE(layout.lay_out(format, file, folder.path("b.h5")).ok());
  for (const double zero : {0.0, -0.0, 0.0}) {
    file.arrays[0].attributes[1].value = std::vector<double>{zero};
    file.groups[1].attributes[0].value = std::vector<double>{zero, 1.0};
    ASSERT_TRUE(layout.lay_out(format, file, folder.path("zero.h5")).ok());
  }
  // The third one is like the first.
  EXPECT_EQ(format.laid_out, 4) << "zero and minus zero are different bytes";
  file.arrays[1].shape = shape_of({11});
  file.arrays[0].shape = shape_of({6, 11});
  auto room = layout.lay_out(format, file, folder.path("c.h5"));
  ASSERT_TRUE(room.ok()) << room.error().text();
  EXPECT_EQ(format.laid_out, 5);
  EXPECT_EQ(room.value().map.arrays[1].description.shape, shape_of({11}));
  // Another format with the same description, which has neither groups nor chunks.
  file = {.arrays = {{.name = "x", .shape = shape_of({10})}}};
  const Format* const cdf = cdf_format(5);
  ASSERT_TRUE(layout.lay_out(format, file, folder.path("d.h5")).ok());
  ASSERT_TRUE(layout.lay_out(*cdf, file, folder.path("d.nc")).ok());
  EXPECT_EQ(content_of(incomplete_path(folder.path("d.nc"))).substr(0, 3), "CDF");
}

// A program that writes checkpoints and plot files in turn has two kinds. Four are known.
TEST(KnownLayout, AsManyKindsInTurnAreKnownAsTheLimit) {
  TestFolder folder;
  for (const std::int64_t kinds : {4, 5}) {
    const CountedFormat format;
    KnownLayout layout;
    for (int round = 0; round < 3; ++round) {
      for (std::int64_t kind = 0; kind < kinds; ++kind) {
        FileDescription file = hdf5_example();
        file.arrays[2].shape = shape_of({7, 9 + kind});
        const auto room = layout.lay_out(format, file, folder.path("a.h5"));
        ASSERT_TRUE(room.ok()) << room.error().text();
        EXPECT_EQ(room.value().map.arrays[2].description.shape, file.arrays[2].shape);
      }
    }
    EXPECT_EQ(format.laid_out, kinds == 4 ? 4 : 15);
  }
}

// At most 1 MiB of metadata is kept: 2 attributes of 32 KiB fit, and 33 do not.
TEST(KnownLayout, AFileOfMuchMetadataIsNotKept) {
  TestFolder folder;
  for (const bool is_small : {true, false}) {
    const CountedFormat format;
    KnownLayout layout;
    FileDescription file = hdf5_example();
    for (int i = 0; i < (is_small ? 2 : 33); ++i) {
      file.groups.push_back({fmt::format("group {}", i), {{"text", std::string(32768, 'x')}}});
    }
    for (const char* name : {"a.h5", "b.h5"}) {
      const auto room = layout.lay_out(format, file, folder.path(name));
      ASSERT_TRUE(room.ok()) << room.error().text();
    }
    EXPECT_EQ(format.laid_out, is_small ? 1 : 2);
  }
}

TEST(KnownLayout, BlocksAreKeptUpToTheirLimit) {
  TestFolder folder;
  const std::vector<std::byte> bytes(11, std::byte{7});
  for (const std::size_t count : {std::size_t{4}, std::size_t{5}}) {
    Hdf5Writing writing(Hdf5Writing::Writes::reach_the_file, 1);
    writing.keep_blocks(10);
    ASSERT_TRUE(writing.open(folder.path("a").c_str(), true, true));
    writing.write(0, bytes.data(), 6);
    writing.write(6, bytes.data(), count);
    const auto kept = writing.take_kept();
    EXPECT_EQ(kept.has_value(), count == 4);
    EXPECT_FALSE(writing.take_kept());
  }
}

TEST(KnownLayout, ARefusedWriteIsTold) {
  TestFolder folder;
  const CountedFormat format;
  KnownLayout layout;
  ASSERT_TRUE(layout.lay_out(format, hdf5_example(), folder.path("a.h5")).ok());
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto told = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{48}, rlim_t{4096}}) {
    const struct rlimit small { bytes, before.rlim_max };
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto room = layout.lay_out(format, hdf5_example(), folder.path("b.h5"));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(room.ok());
    EXPECT_NE(room.error().text().find("File too large"), std::string::npos) << room.error().text();
    EXPECT_FALSE(std::filesystem::exists(folder.path("b.h5")));
  }
  std::signal(SIGXFSZ, told);
  EXPECT_TRUE(layout.lay_out(format, hdf5_example(), folder.path("b.h5")).ok());
  EXPECT_EQ(format.laid_out, 1);
}

}  // namespace
}  // namespace weir::storage
