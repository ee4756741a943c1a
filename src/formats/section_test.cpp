// Reading and writing sections in one process: every format and layout, memory of any order,
// buffers of absurd sizes; what is read is compared with what the extent maps name element by
// element.
#include "array/section.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "array/layout.hpp"
#include "codecs/codec.hpp"
#include "engines/engine.hpp"
#include "engines/test_faulty_engine.hpp"
#include "formats/open_any.hpp"
#include "formats/test_transfer.hpp"
#include "sections/encoded_section.hpp"
#include "sections/encoded_writer.hpp"
#include "sections/read_section.hpp"
#include "sections/write_section.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;
using array::ElementType;
using array::Indices;
using array::Layout;
using array::Section;
using array::Shape;

ArrayDescription described(std::string name, std::initializer_list<std::int64_t> extents,
                           ElementKind kind) {
  ArrayDescription array{.name = std::move(name), .shape = Shape::create(extents).value()};
  array.type = kind;
  return array;
}

// Everything that a format can express, in one file.
FileDescription arrays_for(const FormatAbilities& can) {
  FileDescription file;
  file.arrays.push_back(described("plain", {9, 7, 5}, ElementKind::float64));
  if (can.growing) {
    ArrayDescription steps = described("steps", {3, 4, 5}, ElementKind::int16);
    steps.grows = true;
    file.arrays.push_back(steps);
    steps = described("more_steps", {3, 7}, ElementKind::float32);
    steps.grows = true;
    file.arrays.push_back(steps);
  }
  if (can.chunks) {
    ArrayDescription chunked = described("chunked", {11, 13}, ElementKind::float32);
    chunked.chunk_extents = Indices{4, 5};
    file.arrays.push_back(chunked);
  }
  if (can.column_major_chunks) {
    ArrayDescription columns = described("columns", {6, 7, 5}, ElementKind::int32);
    columns.chunk_extents = Indices{4, 3, 2};
    columns.order = array::Order::column_major;
    file.arrays.push_back(columns);
  }
  if (can.shards) {
    ArrayDescription shards = described("shards", {10, 12}, ElementKind::int64);
    shards.chunk_extents = Indices{2, 3};
    shards.shard_extents = Indices{4, 6};
    file.arrays.push_back(shards);
  }
  return file;
}

Section random_section(const Shape& shape, std::mt19937& random) {
  Section section;
  for (const std::int64_t extent : shape.extents()) {
    const std::int64_t stride = std::uniform_int_distribution<std::int64_t>(1, 3)(random);
    const std::int64_t start = std::uniform_int_distribution<std::int64_t>(0, extent - 1)(random);
    const std::int64_t most = (extent - start + stride - 1) / stride;
    section.start.push_back(start);
    section.stride.push_back(stride);
    section.count.push_back(std::uniform_int_distribution<std::int64_t>(1, most)(random));
  }
  return section;
}

// Memory for a section: row-major, column-major, or backwards along dimension 0.
struct SectionMemory {
  SectionMemory(const Section& section, const ElementType& type, int kind)
      : bytes(static_cast<std::size_t>(section.elements() * type.bytes()), std::byte{0xaa}),
        layout(Layout::packed(section.count, type.bytes(),
                              kind == 1 ? array::Order::column_major : array::Order::row_major)
                   .value()) {
    if (kind != 2) return;
    Indices strides;
    for (int d = 0; d < section.dimensions(); ++d) strides.push_back(layout.stride(d));
    const std::int64_t last = strides[0] * (section.count[0] - 1);
    strides[0] = -strides[0];
    layout = Layout::strided(section.count, type.bytes(), std::span(strides.begin(), strides.end()),
                             last)
                 .value();
  }
  [[nodiscard]] std::byte* at(const Indices& index) {
    return bytes.data() + layout.offset_of(index);
  }

  std::vector<std::byte> bytes;
  Layout layout;
};

// Calls visit(index in the section, number of the element in the array in row-major order).
template <typename Visit>
void for_each_of(const Section& section, const Shape& shape, const Visit& visit) {
  for_each_element(
      Shape::create(section.count).value(), [&](const Indices& index, std::int64_t /*number*/) {
        std::int64_t number = 0;
        for (int d = 0; d < shape.dimensions(); ++d) {
          number = number * shape.extent(d) + section.start[d] + index[d] * section.stride[d];
        }
        visit(index, number);
      });
}

std::int64_t wrong_in(const Section& section, const StoredArray& stored, SectionMemory& memory,
                      std::int64_t seed) {
  std::int64_t wrong = 0;
  for_each_of(section, stored.map.shape, [&](const Indices& index, std::int64_t number) {
    const auto expected = test_element(stored.map.type, number, seed);
    if (!std::equal(expected.begin(), expected.end(), memory.at(index))) ++wrong;
  });
  return wrong;
}

class Sections : public testing::TestWithParam<const Format*> {};

TEST_P(Sections, AreReadFromEveryLayoutIntoAnyMemory) {
  const TestFolder folder;
  const std::string path = folder.path("file");
  ASSERT_TRUE(make_file(*GetParam(), arrays_for(GetParam()->abilities()), path).ok());
  const auto laid_out = open_any(path);
  ASSERT_TRUE(laid_out.ok()) << laid_out.error().text();
  EXPECT_EQ(laid_out.value().format, GetParam()->name());
  std::mt19937 random(5);
  for (const StoredArray& stored : laid_out.value().map.arrays) {
    write_array(stored.map, 17);
    for (int round = 0; round < 60; ++round) {
      const Section section = round == 0 ? Section::of(stored.map.shape.box())
                                         : random_section(stored.map.shape, random);
      SectionMemory memory(section, stored.map.type, round % 3);
      DataFileCache files(DataFileCache::Use::reading);
      const Status read = read_section(stored, section, memory.bytes.data(), memory.layout, files,
                                       round % 2 == 0 ? 24 : serial_buffer_bytes);
      ASSERT_TRUE(read.ok()) << read.error().text();
      ASSERT_EQ(wrong_in(section, stored, memory, 17), 0)
          << stored.description.name << " round " << round;
    }
  }
}

TEST_P(Sections, AreWrittenIntoEveryLayoutFromAnyMemory) {
  const TestFolder folder;
  const std::string path = folder.path("file");
  const auto laid_out = make_file(*GetParam(), arrays_for(GetParam()->abilities()), path);
  ASSERT_TRUE(laid_out.ok()) << laid_out.error().text();
  for (const StoredArray& stored : laid_out.value().arrays) {
    DataFileCache files(DataFileCache::Use::writing);
    // Halves along dimension 0, whose boundary cuts chunks, by small and large buffers.
    const std::int64_t half = stored.map.shape.extent(0) / 2;
    for (const bool upper : {false, true}) {
      Section section = Section::of(stored.map.shape.box());
      section.start[0] = upper ? half : 0;
      section.count[0] = upper ? stored.map.shape.extent(0) - half : half;
      SectionMemory memory(section, stored.map.type, upper ? 1 : 2);
      for_each_of(section, stored.map.shape, [&](const Indices& index, std::int64_t number) {
        const auto element = test_element(stored.map.type, number, 3);
        std::copy(element.begin(), element.end(), memory.at(index));
      });
      const Status written = write_section(stored, section, memory.bytes.data(), memory.layout,
                                           files, upper ? 24 : serial_buffer_bytes);
      ASSERT_TRUE(written.ok()) << written.error().text();
    }
    ASSERT_TRUE(files.sync().ok());
    EXPECT_EQ(wrong_elements(stored.map, 3), 0) << stored.description.name;
  }
}

// What moves the bytes loses some and says that all went well.
TEST_P(Sections, BytesThatWentNowhereAreAnError) {
  const TestFolder folder;
  const auto laid_out =
      make_file(*GetParam(), arrays_for(GetParam()->abilities()), folder.path("file"));
  ASSERT_TRUE(laid_out.ok()) << laid_out.error().text();
  for (const StoredArray& stored : laid_out.value().arrays) {
    write_array(stored.map, 17);
    const Section whole = Section::of(stored.map.shape.box());
    SectionMemory memory(whole, stored.map.type, 1);  // so that there are several transfers
    // All transfers are lost, the second one alone is, or all of it but a byte.
    const std::vector<Fault> faults = {
        {.number = 1}, {.number = 2, .is_once = true}, {.number = 2, .is_once = true, .moved = 1}};
    for (Fault fault : faults) {
      fault.is_dropped = true;
      DataFileCache written(DataFileCache::Use::writing, make_faulty_mover(fault));
      const Status write =
          write_section(stored, whole, memory.bytes.data(), memory.layout, written, 24);
      ASSERT_FALSE(write.ok()) << stored.description.name;
      EXPECT_EQ(write.error().code, ErrorCode::short_transfer);
      fault.operation = Fault::Operation::read;
      DataFileCache read(DataFileCache::Use::reading, make_faulty_mover(fault));
      const Status reading =
          read_section(stored, whole, memory.bytes.data(), memory.layout, read, 24);
      ASSERT_FALSE(reading.ok()) << stored.description.name;
      EXPECT_EQ(reading.error().code, ErrorCode::short_transfer);
    }
  }
}

// A piece that goes nowhere before any file is asked: the array's shape has elements that its
// chunks have not.
TEST_P(Sections, ElementsWithoutAChunkAreAnError) {
  const TestFolder folder;
  const auto laid_out =
      make_file(*GetParam(), arrays_for(GetParam()->abilities()), folder.path("file"));
  ASSERT_TRUE(laid_out.ok()) << laid_out.error().text();
  for (const StoredArray& stored : laid_out.value().arrays) {
    if (stored.map.chunks() == nullptr) continue;
    StoredArray longer = stored;
    Indices extents = stored.map.shape.extents();
    extents[0] += 5;
    longer.map.shape = Shape::create(extents).value();
    const Section whole = Section::of(longer.map.shape.box());
    SectionMemory memory(whole, stored.map.type, 0);
    DataFileCache writing(DataFileCache::Use::writing);
    DataFileCache reading(DataFileCache::Use::reading);
    const std::vector<Status> moved = {
        write_section(longer, whole, memory.bytes.data(), memory.layout, writing),
        read_section(longer, whole, memory.bytes.data(), memory.layout, reading)};
    for (const Status& one : moved) {
      ASSERT_FALSE(one.ok()) << stored.description.name;
      EXPECT_EQ(one.error().code, ErrorCode::short_transfer);
      EXPECT_NE(one.error().text().find("the library lost bytes"), std::string::npos)
          << one.error().text();
    }
  }
}

// Somebody puts another file in its place: its bytes are not read by the map of the first one.
TEST_P(Sections, OfAFileThatWasReplacedAreNotRead) {
  const TestFolder folder;
  const std::string path = folder.path("file");
  for (const bool opened_before : {false, true}) {
    SCOPED_TRACE(opened_before ? "its data file was open" : "its data file was not open");
    std::filesystem::remove_all(path);
    const FileDescription first = arrays_for(GetParam()->abilities());
    ASSERT_TRUE(make_file(*GetParam(), first, path).ok());
    const auto opened = open_any(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    const StoredArray& stored = opened.value().map.arrays.front();
    write_array(stored.map, 17);
    const Section whole = Section::of(stored.map.shape.box());
    SectionMemory memory(whole, stored.map.type, 0);
    DataFileCache files(DataFileCache::Use::reading);
    const auto read = [&] {
      return read_section(stored, whole, memory.bytes.data(), memory.layout, files);
    };
    if (opened_before) {
      ASSERT_TRUE(read().ok());
    }
    if (std::filesystem::is_directory(path)) {
      std::filesystem::rename(path, path + (opened_before ? ".1" : ".0"));
    }
    FileDescription second = first;
    std::reverse(second.arrays.begin(), second.arrays.end());
    ASSERT_TRUE(make_file(*GetParam(), second, path).ok());
    const Status again = read();
    if (opened_before) {
      EXPECT_TRUE(again.ok()) << again.error().text();
      EXPECT_EQ(wrong_in(whole, stored, memory, 17), 0);
    } else {
      ASSERT_FALSE(again.ok());
      EXPECT_NE(again.error().text().find("open it again"), std::string::npos)
          << again.error().text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Sections,
                         testing::ValuesIn(all_formats().begin(), all_formats().end()),
                         [](const auto& tested) { return std::string(tested.param->name()); });

// Somebody else has put a link under the name that a chunk or shard of the next step will have.
TEST(NewChunks, AreNotWrittenThroughLinks) {
  for (const bool in_shards : {false, true}) {
    const TestFolder folder;
    const std::string path = folder.path("file.zarr");
    const std::string precious = folder.path("precious");
    std::ofstream(precious) << "precious";
    ArrayDescription about = described("v", {1, 8}, ElementKind::float64);
    about.grows = true;
    if (in_shards) {
      about.chunk_extents = Indices{1, 4};
      about.shard_extents = Indices{1, 8};
    }
    const Format& format = *find_format("zarr").value();
    ASSERT_TRUE(make_file(format, {.arrays = {about}}, path).ok());
    std::filesystem::create_symlink(precious, path + "/v/c.1.0");
    const auto room = format.make_room(path, 2);
    ASSERT_TRUE(room.ok()) << room.error().text();
    const StoredArray& stored = room.value().map.arrays.front();
    DataFileCache files(DataFileCache::Use::writing);
    const Status written =
        write_fill(stored, {.start = {1, 0}, .count = {1, 8}, .stride = {1, 1}}, files);
    EXPECT_EQ(written.ok(), in_shards);  // a shard has taken the link's place
    if (!written.ok()) {
      EXPECT_NE(written.error().text().find("symbolic link"), std::string::npos);
    }
    const auto engine = make_posix_engine();
    const auto opened = engine->open(path + "/v/c.1.0", {.write = true, .bytes_when_made = 64});
    EXPECT_EQ(opened.ok(), in_shards);
    std::string text;
    std::ifstream(precious) >> text;
    EXPECT_EQ(text, "precious");
    EXPECT_EQ(std::filesystem::file_size(precious), 8U);
  }
}

// A step was written and not committed. The next one writes half of the array: the other half has
// to be as in any new step, also where chunks and shards hold committed steps beside it.
TEST(AbandonedSteps, AreNotSeenInTheNextOne) {
  struct Case {
    const char* format;
    std::optional<Indices> chunks;
    std::optional<Indices> shards;
    const char* codec;
  };
  const Indices four_steps = {4, 8};
  const Indices quarters = {4, 2};
  const Indices one_step = {1, 8};
  const std::vector<Case> cases = {{"zarr", std::nullopt, std::nullopt, ""},
                                   {"zarr", four_steps, std::nullopt, ""},
                                   {"zarr", quarters, std::nullopt, ""},
                                   {"zarr", four_steps, std::nullopt, "crc32c"},
                                   {"zarr", one_step, four_steps, ""},
                                   {"zarr", quarters, four_steps, "crc32c"},
                                   {"zarr", one_step, four_steps, "crc32c"},
                                   {"hdf5", std::nullopt, std::nullopt, ""},
                                   {"hdf5", four_steps, std::nullopt, ""},
                                   {"hdf5", quarters, std::nullopt, ""},
                                   {"hdf5", one_step, std::nullopt, "fletcher32"},
                                   {"raw", std::nullopt, std::nullopt, ""},
                                   {"raw", four_steps, std::nullopt, ""},
                                   {"raw", quarters, std::nullopt, ""},
                                   {"cdf5", std::nullopt, std::nullopt, ""}};
  for (const Case& one : cases) {
    const auto found = find_format(one.format);
    if (!found) continue;  // a build without HDF5
    const Format& format = *found.value();
    SCOPED_TRACE(std::string(one.format) + " " +
                 (one.chunks ? std::to_string((*one.chunks)[0]) : "no") + " steps in a chunk" +
                 (one.shards ? " in shards " : " ") + one.codec);
    const TestFolder folder;
    const std::string path = folder.path("file");
    ArrayDescription about = described("v", {2, 8}, ElementKind::float64);
    about.grows = true;
    about.chunk_extents = one.chunks;
    about.shard_extents = one.shards;
    if (*one.codec != '\0') about.codecs = parse_pipeline(one.codec).value();
    auto room = format.lay_out({.arrays = {about}}, path);
    ASSERT_TRUE(room.ok()) << room.error().text();
    const auto write = [&](std::int64_t first, std::int64_t count, std::int64_t width,
                           double value) {
      DataFileCache files(DataFileCache::Use::writing);
      const std::vector<double> numbers(static_cast<std::size_t>(count * width), value);
      const Section section{.start = {first, 0}, .count = {count, width}, .stride = {1, 1}};
      const Layout memory =
          Layout::packed(section.count, sizeof(double), array::Order::row_major).value();
      const StoredArray& stored = room.value().map.arrays.front();
      const auto* const data = reinterpret_cast<const std::byte*>(numbers.data());
      if (room.value().free_from < 0 || stored.map.encoded() == nullptr) {
        return write_section(stored, section, data, memory, files);
      }
      std::int64_t next = room.value().free_from;
      EncodedWriter writer(stored.map, files, [&](std::int64_t bytes) {
        return Result<std::int64_t>(std::exchange(next, next + bytes));
      });
      Status written = write_encoded_section(stored, section, data, memory, files, writer);
      if (!written.ok()) return written;
      std::vector<WrittenChunk> chunks;
      for (const auto& entry : writer.take_written())
        chunks.push_back({0, entry.chunk, entry.place});
      auto update = format.enter_chunks(path, room.value(), first + count, chunks);
      if (!update) return Status(update.error());
      room.value().update = std::move(update).value();
      return Status();
    };
    ASSERT_TRUE(write(0, 2, 8, 1).ok());
    ASSERT_TRUE(commit(path, room.value().update, StepDurability::step).ok());
    for (const double value : {99, 98}) {
      room = format.make_room(path, 3);
      ASSERT_TRUE(room.ok()) << room.error().text();
      const Status written = write(2, 1, 8, value);
      ASSERT_TRUE(written.ok()) << written.error().text();
    }
    room = format.make_room(path, 3);
    ASSERT_TRUE(room.ok()) << room.error().text();
    const std::int64_t width = one.format == std::string("hdf5") && *one.codec != '\0' ? 8 : 4;
    ASSERT_TRUE(write(2, 1, width, 3).ok());
    ASSERT_TRUE(commit(path, room.value().update, StepDurability::step).ok());
    const auto opened = open_any(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    std::vector<double> read(24);
    const Section whole = Section::of({{0, 0}, {3, 8}});
    DataFileCache files(DataFileCache::Use::reading);
    ASSERT_TRUE(read_section(opened.value().map.arrays.front(), whole,
                             reinterpret_cast<std::byte*>(read.data()),
                             Layout::packed(whole.count, 8, array::Order::row_major).value(), files)
                    .ok());
    std::vector<double> expected(24, 0);
    std::fill_n(expected.begin(), 16, 1.0);
    std::fill_n(expected.begin() + 16, width, 3.0);
    EXPECT_EQ(read, expected);
  }
}

TEST(MissingChunks, HaveTheFillValue) {
  const TestFolder folder;
  const std::string path = folder.path("file");
  ArrayDescription sparse = described("sparse", {4, 6}, ElementKind::int16);
  sparse.chunk_extents = Indices{2, 3};
  sparse.fill = {std::byte{0x34}, std::byte{0x12}};
  const auto format = find_format("zarr");
  const auto map = make_file(*format.value(), {.arrays = {sparse}}, path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  const StoredArray& stored = map.value().arrays.front();
  DataFileCache writing(DataFileCache::Use::writing);
  const Section corner = Section::of({{0, 3}, {2, 3}});
  SectionMemory ones(corner, stored.map.type, 0);
  std::fill(ones.bytes.begin(), ones.bytes.end(), std::byte{1});
  ASSERT_TRUE(write_section(stored, corner, ones.bytes.data(), ones.layout, writing).ok());

  const Section whole = Section::of(stored.map.shape.box());
  SectionMemory memory(whole, stored.map.type, 0);
  DataFileCache reading(DataFileCache::Use::reading);
  ASSERT_TRUE(read_section(stored, whole, memory.bytes.data(), memory.layout, reading).ok());
  for_each_of(whole, stored.map.shape, [&](const Indices& index, std::int64_t number) {
    const bool written = index[0] < 2 && index[1] >= 3;
    EXPECT_EQ(memory.at(index)[0], written ? std::byte{1} : std::byte{0x34}) << number;
    EXPECT_EQ(memory.at(index)[1], written ? std::byte{1} : std::byte{0x12}) << number;
  });
}

TEST(OpenAny, ReadsRawArraysInSeveralFiles) {
  const TestFolder folder;
  const std::string path = folder.path("density");
  FileDescription file{.arrays = {described("density", {12, 10}, ElementKind::int32)}};
  file.arrays[0].chunk_extents = Indices{2, 3};
  file.in_place = Placement{.layout = FileLayout::per_rank, .files = 3};
  const auto made = make_file(*find_format("raw").value(), file, path);
  ASSERT_TRUE(made.ok()) << made.error().text();
  const ExtentMap& map = made.value().arrays.front().map;
  const array::ChunkGrid& grid = map.chunks()->grid;
  // The number of each chunk in all of its elements.
  for (std::int64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
    const std::vector<std::int32_t> elements(static_cast<std::size_t>(grid.box(chunk).elements()),
                                             static_cast<std::int32_t>(chunk));
    const ExtentPlace place = map.chunks()->place_of(chunk).value();
    std::fstream data(map.files.path(place.file), std::ios::in | std::ios::out | std::ios::binary);
    data.seekp(place.offset);
    data.write(reinterpret_cast<const char*>(elements.data()),
               static_cast<std::streamsize>(elements.size() * sizeof(std::int32_t)));
    ASSERT_TRUE(data.good());
  }
  const auto opened = open_any(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  const Section whole = Section::of(map.shape.box());
  std::vector<std::int32_t> read(120);
  DataFileCache files(DataFileCache::Use::reading);
  const Layout packed = Layout::packed(whole.count, 4, array::Order::row_major).value();
  const Status status = read_section(opened.value().map.arrays.front(), whole,
                                     reinterpret_cast<std::byte*>(read.data()), packed, files);
  ASSERT_TRUE(status.ok()) << status.error().text();
  for_each_element(map.shape, [&](const Indices& index, std::int64_t number) {
    EXPECT_EQ(read[static_cast<std::size_t>(number)], grid.chunk_of(index)) << number;
  });
}

TEST(OpenAny, ReadsRawFilesByEitherName) {
  const TestFolder folder;
  const std::string path = folder.path("density.raw");
  FileDescription file{.arrays = {described("density", {5, 7}, ElementKind::int32)}};
  file.arrays[0].chunk_extents = Indices{2, 3};
  file.in_place = Placement{};
  ASSERT_TRUE(make_file(*find_format("raw").value(), file, path).ok());
  for (const std::string& name : {path, path + ".json"}) {
    const auto opened = open_any(name);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_EQ(opened.value().format, "raw");
    const StoredArray& stored = opened.value().map.arrays.front();
    write_array(stored.map, 1);
    const Section whole = Section::of(stored.map.shape.box());
    SectionMemory memory(whole, stored.map.type, 1);
    DataFileCache files(DataFileCache::Use::reading);
    ASSERT_TRUE(read_section(stored, whole, memory.bytes.data(), memory.layout, files).ok());
    EXPECT_EQ(wrong_in(whole, stored, memory, 1), 0);
  }
}

TEST(OpenAny, RefusesWhatIsOfNoFormat) {
  const TestFolder folder;
  EXPECT_EQ(open_any(folder.path("nothing")).error().code, ErrorCode::io);
  std::ofstream(folder.path("text")) << "no array";
  EXPECT_EQ(open_any(folder.path("text")).error().code, ErrorCode::unsupported);
}

TEST(OverlappingMemory, IsRefused) {
  const TestFolder folder;
  const auto map =
      make_file(*find_format("cdf5").value(),
                {.arrays = {described("plain", {4}, ElementKind::float64)}}, folder.path("file"));
  ASSERT_TRUE(map.ok());
  std::vector<std::byte> bytes(64);
  const std::vector<std::int64_t> strides = {4};
  DataFileCache files(DataFileCache::Use::reading);
  EXPECT_FALSE(read_section(map.value().arrays.front(), Section::of({{0}, {4}}), bytes.data(),
                            Layout::strided({4}, 8, strides).value(), files)
                   .ok());
}

}  // namespace
}  // namespace weir::storage
