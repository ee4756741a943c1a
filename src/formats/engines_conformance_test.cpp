// Every format by every engine: arrays of each kind and layout are written and read at the places
// that their maps name, by StoredFiles, as aggregators do.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "engines/test_engines.hpp"
#include "formats/format.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "sections/stored_files.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

// An array's elements in memory, and where they go: neighbours in file and memory are one slice.
struct Image {
  std::vector<std::byte> memory;
  std::vector<Slice> slices;
  std::vector<StoredRange> ranges;

  Image(const ExtentMap& map, std::int64_t seed) {
    const std::int64_t bytes = map.type.bytes();
    memory.resize(static_cast<std::size_t>(map.shape.elements() * bytes));
    std::vector<ExtentPlace> places;
    for_each_element(map.shape, [&](const array::Indices& index, std::int64_t number) {
      auto element = test_element(map.type, number, seed);
      swap_if_big(map, element);
      std::ranges::copy(element, memory.begin() + number * bytes);
      const auto place = map.place_of(index);
      ASSERT_TRUE(place.has_value());
      const bool follows = !slices.empty() && places.back().file == place->file &&
                           places.back().offset + slices.back().bytes == place->offset;
      if (follows) {
        slices.back().bytes += bytes;
      } else {
        slices.push_back({memory.data() + number * bytes, bytes});
        places.push_back(*place);
      }
    });
    for (std::size_t i = 0; i < slices.size(); ++i) {
      ranges.push_back({places[i].file, places[i].offset, {&slices[i], 1}});
    }
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::ranges::shuffle(ranges, random);
  }
};

class FormatsByEngines : public testing::TestWithParam<std::tuple<const Format*, TestedEngine>> {
 protected:
  TestFolder folder_;
};

TEST_P(FormatsByEngines, HoldWhatWasWritten) {
  const auto& [format, tested] = GetParam();
  std::shared_ptr<Engine> engine = tested.make();
  if (engine == nullptr) GTEST_SKIP() << "no io_uring here";
  const bool in_file_system = engine->abilities().in_file_system;
  FileDescription file = all_it_can(format->abilities());
  // Long enough for whole pages of it to go past the page cache.
  file.arrays.push_back({.name = "long", .shape = shape_of({3, 15'001})});
  const std::string path = folder_.path("file");
  auto made = make_file(*format, file, path);
  ASSERT_TRUE(made.ok()) << made.error().text();
  const auto open = std::make_shared<OpenFiles>(engine, 5);
  std::deque<Image> images;
  std::vector<std::vector<std::byte>> expected;
  for (StoredArray& one : made.value().arrays) {
    if (!in_file_system && one.map.files.bytes_when_made() == 0) {
      // What is laid out in the file system is not there for this engine, which makes its own.
      one.map.files.set_bytes_when_made(
          static_cast<std::int64_t>(std::filesystem::file_size(one.map.files.path(0))));
    }
    Image& image = images.emplace_back(one.map, std::ssize(images) + 1);
    expected.push_back(image.memory);
    StoredFiles files(one.map.files, true, open);
    FileTraffic traffic;
    const Status written = files.write(image.ranges, traffic);
    ASSERT_TRUE(written.ok()) << written.error().text();
    EXPECT_EQ(traffic.written, one.map.shape.elements() * one.map.type.bytes());
    ASSERT_TRUE(files.sync().ok());
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    const StoredArray& one = made.value().arrays[i];
    const std::string& name = one.description.name;
    Image& image = images[i];
    std::ranges::fill(image.memory, std::byte{0});
    StoredFiles files(one.map.files, false, open);
    FileTraffic traffic;
    const Status read = files.read(image.ranges, traffic);
    ASSERT_TRUE(read.ok()) << name << ": " << read.error().text();
    EXPECT_EQ(image.memory, expected[i]) << name;
    ASSERT_TRUE(files.close().ok());
  }
  if (!in_file_system) return;
  const auto opened = format->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  std::int64_t seed = 0;
  for (const ArrayDescription& one : file.arrays) {
    ++seed;
    if (one.order != array::Order::row_major) continue;  // opened with its extents reversed
    const auto found = opened.value().get(one.name);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_EQ(wrong_elements(found.value()->map, seed), 0) << one.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, FormatsByEngines,
                         testing::Combine(testing::ValuesIn(all_formats()),
                                          testing::ValuesIn(tested_engines())),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)->name()) + "_by_" +
                                  std::get<1>(one.param).name;
                         });

}  // namespace
}  // namespace weir::storage
