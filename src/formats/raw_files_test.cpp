#include "formats/raw_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "stored/stored_files.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

RawArray chunks_in(std::int64_t files) {
  return {array::Shape::create({10, 10}).value(),
          array::ElementKind::int8,
          array::Order::row_major,
          16,
          array::Indices({4, 4}),
          "",
          files == 1 ? FileLayout::shared : FileLayout::per_aggregator,
          files};
}

StoredFiles files_of(const RawArray& array, const std::string& path, bool writable) {
  return {data_files(array, path), writable, std::make_shared<OpenFiles>(make_posix_engine())};
}

ExtentPlace place_of_chunk(const RawArray& array, const std::string& path, std::int64_t chunk) {
  return extent_map_of(array, path).chunks()->place_of(chunk).value();
}

TEST(RawFiles, ChunksLieInTurnInTheFiles) {
  TestFolder folder;
  const std::string path = folder.path("a");
  ASSERT_TRUE(create_raw_files(chunks_in(2), path).ok());
  // 9 chunks of 16 bytes: 5 in the first file, 4 in the second.
  EXPECT_EQ(std::filesystem::file_size(path + ".0"), 16U + 5 * 16);
  EXPECT_EQ(std::filesystem::file_size(path + ".1"), 16U + 4 * 16);
  auto opened = open_raw_files(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  StoredFiles files = files_of(opened.value(), path, true);
  const auto place = place_of_chunk(opened.value(), path, 5);
  EXPECT_EQ(place.file, 1);
  EXPECT_EQ(place.offset, 16 + 2 * 16);

  std::array<std::byte, 16> data{};
  for (std::size_t i = 0; i < data.size(); ++i) data.at(i) = static_cast<std::byte>(i + 1);
  const std::array<Slice, 2> halves = {{{data.data(), 5}, {data.data() + 5, 11}}};
  FileTraffic traffic;
  ASSERT_TRUE(files.write(place.file, halves, place.offset, traffic).ok());
  EXPECT_EQ(traffic.written, 16);
  EXPECT_EQ(traffic.calls, 1);
  std::array<std::byte, 16> again{};
  const Slice whole{again.data(), 16};
  ASSERT_TRUE(files.read(place.file, {&whole, 1}, place.offset, traffic).ok());
  EXPECT_EQ(again, data);
  EXPECT_TRUE(files.sync().ok());
  EXPECT_TRUE(files.close().ok());
  EXPECT_TRUE(files.sync().ok());
}

TEST(RawFiles, HaveNoChecksumsOfAnEarlierFile) {
  TestFolder folder;
  const std::string path = folder.path("a");
  std::ofstream(path + ".sums") << "of an earlier file";
  ASSERT_TRUE(create_raw_files(chunks_in(2), path).ok());
  EXPECT_FALSE(std::filesystem::exists(path + ".sums"));
}

// Every chunk has a slot of its own, and files end with their last one.
TEST(RawFiles, ChunksLieByTurnsInTheFiles) {
  TestFolder folder;
  for (const std::int64_t count : {1, 2, 4, 5, 9, 12}) {
    RawArray array = chunks_in(count);
    array.layout = FileLayout::per_rank;
    array.turn = array::Declustering::for_grid(array.grid().value(), 1, count).turn_per_group();
    const std::string path = folder.path("a");
    ASSERT_TRUE(create_raw_files(array, path).ok());
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    std::vector<std::int64_t> ends(static_cast<std::size_t>(count), 16);
    for (std::int64_t chunk = 0; chunk < 9; ++chunk) {
      const auto place = place_of_chunk(array, path, chunk);
      EXPECT_TRUE(places.insert({place.file, place.offset}).second);
      std::int64_t& end = ends.at(static_cast<std::size_t>(place.file));
      end = std::max(end, place.offset + 16);
    }
    for (std::int64_t file = 0; file < count; ++file) {
      const auto bytes = std::filesystem::file_size(data_path(array, path, file));
      EXPECT_EQ(static_cast<std::int64_t>(bytes), ends.at(static_cast<std::size_t>(file)));
    }
  }
}

TEST(RawFiles, LieInSeveralDirectories) {
  TestFolder folder;
  const std::string path = folder.path("a");
  RawArray array = chunks_in(3);
  array.directories = {folder.path("far"), "near"};
  EXPECT_FALSE(create_raw_files(array, path).ok());  // they have to be there
  std::filesystem::create_directory(folder.path("far"));
  std::filesystem::create_directory(folder.path("near"));
  ASSERT_TRUE(create_raw_files(array, path).ok());
  EXPECT_TRUE(std::filesystem::exists(folder.path("far/a.0")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("near/a.1")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("far/a.2")));
  const auto opened = open_raw_files(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  StoredFiles files = files_of(opened.value(), path, true);
  std::array<std::byte, 16> data{};
  data.fill(std::byte{7});
  const Slice slice{data.data(), 16};
  FileTraffic traffic;
  for (const std::int64_t chunk : {0, 1, 2, 8}) {
    const auto place = place_of_chunk(array, path, chunk);
    ASSERT_TRUE(files.write(place.file, {&slice, 1}, place.offset, traffic).ok());
  }
  EXPECT_TRUE(files.close().ok());
  // What lies in the document's place may be something else by now.
  std::filesystem::remove(folder.path("near/a.1"));
  EXPECT_FALSE(open_raw_files(path).ok());
  std::filesystem::create_directory(folder.path("near/a.1"));
  const auto folder_there = open_raw_files(path);
  ASSERT_FALSE(folder_there.ok());
  EXPECT_EQ(folder_there.error().code, ErrorCode::corrupt);
}

TEST(RawFiles, TellWhereAFileEnds) {
  TestFolder folder;
  const std::string path = folder.path("a");
  ASSERT_TRUE(create_raw_files(chunks_in(1), path).ok());
  std::filesystem::resize_file(path, 100);
  const auto opened = open_raw_files(path);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
  StoredFiles files = files_of(chunks_in(1), path, false);
  std::array<std::byte, 32> data{};
  const Slice slice{data.data(), 32};
  FileTraffic traffic;
  const Status read = files.read(0, {&slice, 1}, 96, traffic);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().offset, 100);
  EXPECT_FALSE(files.write(0, {&slice, 1}, 0, traffic).ok());
}

TEST(RawFiles, MoreSlicesThanOneCallTakes) {
  TestFolder folder;
  const std::string path = folder.path("a");
  const RawArray array{array::Shape::create({5000}).value(), array::ElementKind::int8};
  ASSERT_TRUE(create_raw_files(array, path).ok());
  std::vector<std::byte> data(5000);
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>(i * 7);
    slices.push_back({&data[i], 1});
  }
  StoredFiles files = files_of(array, path, true);
  FileTraffic traffic;
  ASSERT_TRUE(files.write(0, slices, 0, traffic).ok());
  EXPECT_EQ(traffic.calls, 5);
  std::vector<std::byte> again(5000);
  const Slice whole{again.data(), 5000};
  ASSERT_TRUE(files.read(0, {&whole, 1}, 0, traffic).ok());
  EXPECT_EQ(again, data);
}

TEST(RawFiles, NeedAFolderAndADocument) {
  TestFolder folder;
  EXPECT_FALSE(create_raw_files(chunks_in(1), folder.path("none/a")).ok());
  EXPECT_FALSE(open_raw_files(folder.path("a")).ok());
}

}  // namespace
}  // namespace weir::storage
