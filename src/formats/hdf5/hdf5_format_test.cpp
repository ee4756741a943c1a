#include "formats/hdf5/hdf5_format.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <hdf5_hl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "formats/dimension_names.hpp"
#include "formats/hdf5/library.hpp"
#include "formats/hdf5/read_elsewhere.hpp"
#include "formats/sandbox_process.hpp"
#include "formats/sandbox_program.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

FileDescription hdf5_example() {
  return {.arrays = {{.name = "fields/u",
                      .shape = shape_of({6, 10}),
                      .dimension_names = {"y", "x"},
                      .attributes = {{"units", "m s-1"}, {"scale", std::vector<double>{2.5}}}},
                     {.name = "x",
                      .shape = shape_of({10}),
                      .type = array::ElementKind::float32,
                      .dimension_names = {"x"},
                      .attributes = {{"units", "m"}}},
                     {.name = "fields/deep/c",
                      .shape = shape_of({7, 9}),
                      .type = array::ElementKind::int32,
                      .chunk_extents = array::Indices{2, 4}}},
          .groups = {{"", {{"title", "a test"}}},
                     {"fields", {{"levels", std::vector<std::int64_t>{1, 2, 3}}}}}};
}

template <typename T>
std::vector<T> read_with_library(const std::string& path, const char* name, hid_t type) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << name;
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  return values;
}

TEST(Hdf5Format, TheLibraryReadsWhatWasWrittenThroughTheMap) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const auto map = make_file(*hdf5_format(), hdf5_example(), path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  ASSERT_EQ(map.value().arrays.size(), 3U);
  std::int64_t seed = 0;
  for (const StoredArray& one : map.value().arrays) write_array(one.map, ++seed);

  const auto u = read_with_library<double>(path, "fields/u", H5T_NATIVE_DOUBLE);
  const auto x = read_with_library<float>(path, "x", H5T_NATIVE_FLOAT);
  const auto c = read_with_library<std::int32_t>(path, "fields/deep/c", H5T_NATIVE_INT32);
  ASSERT_EQ(u.size(), 60U);
  ASSERT_EQ(x.size(), 10U);
  ASSERT_EQ(c.size(), 63U);
  for (std::size_t i = 0; i < u.size(); ++i) ASSERT_EQ(u[i], static_cast<double>(i * 3 + 1));
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<float>(i * 3 + 2));
  for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], static_cast<std::int32_t>(i * 3 + 3));
}

TEST(Hdf5Format, ChunksOfFixedShapeAreInClosedForm) {
  TestFolder folder;
  const auto map = make_file(*hdf5_format(),
                             {.arrays = {{.name = "big",
                                          .shape = shape_of({1 << 14, 1 << 14}),
                                          .chunk_extents = array::Indices{1 << 5, 1 << 5}}}},
                             folder.path("a.h5"));
  ASSERT_TRUE(map.ok()) << map.error().text();
  const ChunkExtents& chunks = *map.value().arrays[0].map.chunks();
  ASSERT_NE(std::get_if<SlotsInTurn>(&chunks.places), nullptr);
  const auto opened = hdf5_format()->open(folder.path("a.h5"));
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value().arrays[0].map, map.value().arrays[0].map);
}

// The rule for the closed form, held against the library's own answers for every chunk.
TEST(Hdf5Format, TheClosedFormIsWhatTheLibrarySays) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const auto map = make_file(*hdf5_format(),
                             {.arrays = {{.name = "a",
                                          .shape = shape_of({19, 23, 5}),
                                          .chunk_extents = array::Indices{2, 4, 3}}}},
                             path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  const ChunkExtents& chunks = *map.value().arrays[0].map.chunks();
  ASSERT_NE(std::get_if<SlotsInTurn>(&chunks.places), nullptr);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "a", H5P_DEFAULT);
  for (std::int64_t chunk = 0; chunk < chunks.grid.chunks(); ++chunk) {
    const array::Box box = chunks.grid.box(chunk);
    const std::array<hsize_t, 3> corner = {static_cast<hsize_t>(box.lower[0]),
                                           static_cast<hsize_t>(box.lower[1]),
                                           static_cast<hsize_t>(box.lower[2])};
    unsigned mask = 0;
    haddr_t offset = 0;
    hsize_t bytes = 0;
    ASSERT_GE(H5Dget_chunk_info_by_coord(dataset, corner.data(), &mask, &offset, &bytes), 0);
    EXPECT_EQ(chunks.place_of(chunk), (ExtentPlace{0, static_cast<std::int64_t>(offset)})) << chunk;
  }
  H5Dclose(dataset);
  H5Fclose(file);
}

// What the driver is asked for when the library looks up a chunk, held against the library's
// answers.
TEST(Hdf5Format, ChunksOfArraysThatGrowAreWhereTheLibrarySays) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  ASSERT_TRUE(make_file(*hdf5_format(),
                        {.arrays = {{.name = "a",
                                     .shape = shape_of({1, 10}),
                                     .grows = true,
                                     .chunk_extents = array::Indices{2, 3}}}},
                        path)
                  .ok());
  const auto room = hdf5_format()->make_room(path, 77);
  ASSERT_TRUE(room.ok()) << room.error().text();
  ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
  const auto opened = hdf5_format()->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(opened.value().arrays[0].map, room.value().map.arrays[0].map);
  const ChunkExtents& chunks = *opened.value().arrays[0].map.chunks();
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "a", H5P_DEFAULT);
  for (std::int64_t chunk = 0; chunk < chunks.grid.chunks(); ++chunk) {
    const array::Box box = chunks.grid.box(chunk);
    const std::array<hsize_t, 2> corner = {static_cast<hsize_t>(box.lower[0]),
                                           static_cast<hsize_t>(box.lower[1])};
    unsigned mask = 0;
    haddr_t offset = 0;
    hsize_t bytes = 0;
    ASSERT_GE(H5Dget_chunk_info_by_coord(dataset, corner.data(), &mask, &offset, &bytes), 0);
    EXPECT_EQ(chunks.place_of(chunk), (ExtentPlace{0, static_cast<std::int64_t>(offset)})) << chunk;
  }
  H5Dclose(dataset);
  H5Fclose(file);
}

TEST(Hdf5Format, OpensAgainAsDescribed) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  ASSERT_TRUE(make_file(*hdf5_format(), hdf5_example(), path).ok());
  const auto opened = hdf5_format()->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_TRUE(opened.value().refused.empty());
  const FileDescription named = with_dimension_names(hdf5_example());
  for (const ArrayDescription& one : named.arrays) {
    const auto found = opened.value().get(one.name);
    ASSERT_TRUE(found.ok()) << found.error().text();
    ArrayDescription described = found.value()->description;
    // Attributes are read by name.
    EXPECT_EQ(described.attributes.size(), one.attributes.size()) << one.name;
    for (const Attribute& attribute : one.attributes) {
      EXPECT_NE(std::find(described.attributes.begin(), described.attributes.end(), attribute),
                described.attributes.end())
          << attribute.name;
    }
    described.attributes = one.attributes;
    EXPECT_EQ(described, one);
  }
  EXPECT_EQ(opened.value().groups, hdf5_example().groups);
}

TEST(Hdf5Format, StepsAreAdded) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const FileDescription steps = {
      .arrays = {{.name = "t", .shape = shape_of({0}), .grows = true, .dimension_names = {"t"}},
                 {.name = "u",
                  .shape = shape_of({0, 3, 5}),
                  .type = array::ElementKind::float32,
                  .grows = true,
                  .dimension_names = {"t", "y", "x"}},
                 {.name = "fixed", .shape = shape_of({4})}}};
  ASSERT_TRUE(make_file(*hdf5_format(), steps, path).ok());
  for (std::int64_t count = 1; count <= 5; ++count) {
    const auto room = hdf5_format()->make_room(path, count);
    ASSERT_TRUE(room.ok()) << room.error().text();
    const auto u = room.value().map.get("u");
    ASSERT_TRUE(u.ok()) << u.error().text();
    EXPECT_EQ(u.value()->map.shape, shape_of({count, 3, 5}));
    write_array(u.value()->map, 5);
    EXPECT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
  }
  EXPECT_FALSE(hdf5_format()->make_room(path, 4).ok());
  const auto u = read_with_library<float>(path, "u", H5T_NATIVE_FLOAT);
  ASSERT_EQ(u.size(), 75U);
  for (std::size_t i = 0; i < u.size(); ++i) ASSERT_EQ(u[i], static_cast<float>(i * 3 + 5));
  EXPECT_EQ(read_with_library<double>(path, "t", H5T_NATIVE_DOUBLE).size(), 5U);
}

TEST(Hdf5Format, TheLibraryReadsAllEarlierStepsOfAKilledCommit) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const std::string copy = folder.path("copy.h5");
  ArrayDescription first{.name = "a",
                         .shape = shape_of({1, 6}),
                         .type = array::ElementKind::float32,
                         .grows = true,
                         .chunk_extents = array::Indices{1, 2},
                         .dimension_names = {"t", "x"}};
  ArrayDescription second = first;
  second.name = "b";
  auto room = hdf5_format()->lay_out({.arrays = {first, second}, .alignment = 8}, path);
  ASSERT_TRUE(room.ok()) << room.error().text();
  for (std::int64_t steps = 1; steps <= 30; ++steps) {
    if (steps > 1) {
      room = hdf5_format()->make_room(path, steps);
      ASSERT_TRUE(room.ok()) << room.error().text();
    }
    for (const StoredArray& one : room.value().map.arrays) write_array(one.map, 5);
    const auto& changes = room.value().update.changes;
    for (std::size_t count = 0; count <= changes.size() && steps > 1; ++count) {
      std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
      HeaderUpdate part = room.value().update;
      part.changes.resize(count, DurabilityPoint{});
      ASSERT_TRUE(commit(copy, part, StepDurability::none).ok());
      for (const char* name : {"a", "b"}) {
        const auto values = read_with_library<float>(copy, name, H5T_NATIVE_FLOAT);
        const auto read = static_cast<std::int64_t>(values.size()) / 6;
        ASSERT_TRUE(read == steps || (read == steps - 1 && count < changes.size())) << read;
        for (std::size_t i = 0; i < values.size(); ++i) {
          ASSERT_EQ(values[i], static_cast<float>(i * 3 + 5)) << steps << ' ' << count;
        }
      }
    }
    ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
  }
}

// The step begins again with fewer chunks: those of the run that was killed are not in it.
TEST(Hdf5Format, ChunksOfAKilledCommitAreNotInTheNextStep) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  constexpr std::int64_t chunks = 3;
  const ArrayDescription one{.name = "a",
                             .shape = shape_of({1, 2 * chunks}),
                             .grows = true,
                             .chunk_extents = array::Indices{1, 2},
                             .codecs = {Fletcher32Codec{}}};
  auto room = hdf5_format()->lay_out({.arrays = {one}}, path);
  ASSERT_TRUE(room.ok()) << room.error().text();
  // The first `count` chunks of the last of `steps` steps.
  const auto update_of = [&](std::int64_t steps, std::int64_t count) {
    std::vector<WrittenChunk> written;
    written.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      written.push_back(
          {0, (steps - 1) * chunks + i, {.offset = room.value().free_from + 20 * i, .bytes = 20}});
    }
    // Their bytes are in the file.
    const auto end = static_cast<std::uintmax_t>(room.value().free_from + 20 * chunks);
    if (steps > 1) std::filesystem::resize_file(path, end);
    return hdf5_format()->enter_chunks(path, room.value(), steps, written);
  };
  auto update = update_of(1, chunks);
  ASSERT_TRUE(update.ok()) << update.error().text();
  ASSERT_TRUE(commit(path, update.value(), StepDurability::none).ok());
  room = hdf5_format()->make_room(path, 2);
  ASSERT_TRUE(room.ok()) << room.error().text();
  update = update_of(2, chunks);
  ASSERT_TRUE(update.ok()) << update.error().text();
  // The array's header is the last change but one.
  auto& changes = update.value().changes;
  changes.resize(changes.size() - 2, DurabilityPoint{});
  ASSERT_TRUE(commit(path, update.value(), StepDurability::none).ok());

  room = hdf5_format()->make_room(path, 2);
  ASSERT_TRUE(room.ok()) << room.error().text();
  EXPECT_TRUE(room.value().has_leftovers);
  EXPECT_FALSE(room.value().map.arrays[0].map.encoded()->place_of(chunks).has_value());
  update = update_of(2, 1);
  ASSERT_TRUE(update.ok()) << update.error().text();
  ASSERT_TRUE(commit(path, update.value(), StepDurability::none).ok());
  const auto opened = hdf5_format()->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  const EncodedChunks& found = *opened.value().arrays[0].map.encoded();
  EXPECT_EQ(found.grid.chunks(), 2 * chunks);
  for (std::int64_t chunk = 0; chunk < 2 * chunks; ++chunk) {
    EXPECT_EQ(found.place_of(chunk).has_value(), chunk <= chunks) << chunk;
  }
  const auto left = hdf5_format()->unfinished(path);
  ASSERT_TRUE(left.ok()) << left.error().text();
  EXPECT_TRUE(left.value().empty());
  room = hdf5_format()->make_room(path, 3);
  ASSERT_TRUE(room.ok()) << room.error().text();
  EXPECT_FALSE(room.value().has_leftovers);
}

// A place that is known is not asked for again: the step costs the same however many there are.
// That is seen by a place that is not the file's.
TEST(Hdf5Format, RoomBehindKnownStepsAsksForNewChunksAlone) {
  TestFolder folder;
  const ArrayDescription plain{.name = "plain",
                               .shape = shape_of({1, 6}),
                               .grows = true,
                               .chunk_extents = array::Indices{2, 2}};
  ArrayDescription encoded = plain;
  encoded.name = "encoded";
  encoded.chunk_extents = array::Indices{1, 2};
  encoded.codecs = {Fletcher32Codec{}};
  ArrayDescription fixed = encoded;
  fixed.name = "fixed";
  fixed.grows = false;
  const std::string path = folder.path("a.h5");
  auto room = hdf5_format()->lay_out({.arrays = {plain, encoded, fixed}}, path);
  ASSERT_TRUE(room.ok()) << room.error().text();
  for (std::int64_t steps = 1; steps <= 7; ++steps) {
    if (steps > 1) {
      room = hdf5_format()->make_room(path, steps);
      ASSERT_TRUE(room.ok()) << room.error().text();
    }
    const FileMap& rooms = room.value().map;
    const auto number = [&](const char* name) { return rooms.find(name) - rooms.arrays.data(); };
    std::vector<WrittenChunk> written;
    for (std::int64_t chunk = 0; chunk < 3; ++chunk) {
      const std::int64_t place = room.value().free_from + 60 * chunk;
      written.push_back(
          {number("encoded"), 3 * (steps - 1) + chunk, {.offset = place, .bytes = 20}});
      if (steps > 1) continue;
      written.push_back({number("fixed"), chunk, {.offset = place + 20, .bytes = 20}});
    }
    const auto update = hdf5_format()->enter_chunks(path, room.value(), steps, written);
    ASSERT_TRUE(update.ok()) << update.error().text();
    ASSERT_TRUE(commit(path, update.value(), StepDurability::none).ok());
    const auto opened = hdf5_format()->open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    const auto asked = hdf5_format()->make_room(path, steps + 1);
    ASSERT_TRUE(asked.ok()) << asked.error().text();
    // As much is known as is there, and less.
    for (std::int64_t known = 0; known <= steps; ++known) {
      const auto behind = hdf5_format()->make_room_behind(path, steps + 1, opened.value(), known);
      ASSERT_TRUE(behind.ok()) << behind.error().text();
      for (const char* name : {"plain", "encoded", "fixed"}) {
        EXPECT_TRUE(behind.value().map.find(name)->map == asked.value().map.find(name)->map)
            << name << " at " << steps << ", known " << known;
      }
    }
    FileMap marked = opened.value();
    // Where another chunk is: making room clears what lies there.
    const std::int64_t place = asked.value().map.find("plain")->map.chunks()->place_of(1)->offset;
    const EncodedPlace elsewhere{.file = 0, .offset = place, .bytes = 20, .skipped = 0};
    for (StoredArray& one : marked.arrays) {
      if (auto* const chunks = std::get_if<EncodedChunks>(&one.map.extents)) {
        std::get<EncodedTable>(chunks->places).put({{0, elsewhere}});
      } else {
        ChunkTable table;
        table.add(0, {0, elsewhere.offset});
        std::get<ChunkExtents>(one.map.extents).places = table;
      }
    }
    const auto behind = hdf5_format()->make_room_behind(path, steps + 1, marked, steps);
    ASSERT_TRUE(behind.ok()) << behind.error().text();
    const FileMap& map = behind.value().map;
    EXPECT_EQ(map.find("plain")->map.chunks()->place_of(0)->offset, elsewhere.offset);
    EXPECT_EQ(map.find("encoded")->map.encoded()->place_of(0), elsewhere);
    EXPECT_EQ(map.find("fixed")->map.encoded()->place_of(0), elsewhere);
    // In chunks of two steps every other step gets new ones.
    const std::int64_t last = (steps + 2) / 2 * 3 - 1;
    EXPECT_EQ(map.find("plain")->map.chunks()->place_of(last).has_value(), steps % 2 == 0);
    // No step is known of another array of the name.
    for (StoredArray& one : marked.arrays) one.map.type = array::ElementKind::int8;
    const auto other = hdf5_format()->make_room_behind(path, steps + 1, marked, steps);
    ASSERT_TRUE(other.ok()) << other.error().text();
    EXPECT_TRUE(other.value().map.find("fixed")->map == asked.value().map.find("fixed")->map);
  }
}

// A commit enters chunks in the index before it writes the array's extents.
TEST(Hdf5Format, ChunksBehindTheStepsAreNamed) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const ArrayDescription one{
      .name = "a", .shape = shape_of({1, 6}), .grows = true, .chunk_extents = array::Indices{1, 2}};
  ASSERT_TRUE(make_file(*hdf5_format(), {.arrays = {one}}, path).ok());
  auto room = hdf5_format()->make_room(path, 2);
  ASSERT_TRUE(room.ok()) << room.error().text();
  // The array's header is the last change but one.
  auto& changes = room.value().update.changes;
  ASSERT_GT(changes.size(), 2U);
  changes.resize(changes.size() - 2, DurabilityPoint{});
  ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
  const auto left = hdf5_format()->unfinished(path);
  ASSERT_TRUE(left.ok()) << left.error().text();
  ASSERT_EQ(left.value().size(), 2U);
  EXPECT_NE(left.value()[1].find("3 chunks after the steps of array \"a\""), std::string::npos)
      << left.value()[1];
}

// The chunks of a step that is new are not in the file, and need not be asked for.
TEST(Hdf5Format, AStepOfManyEncodedChunksGetsRoom) {
  TestFolder folder;
  constexpr std::int64_t chunks = 8193;
  const std::string path = folder.path("a.h5");
  const ArrayDescription one{.name = "a",
                             .shape = shape_of({1, chunks}),
                             .type = array::ElementKind::uint8,
                             .grows = true,
                             .chunk_extents = array::Indices{1, 1},
                             .codecs = {Fletcher32Codec{}}};
  auto room = hdf5_format()->lay_out({.arrays = {one}}, path);
  ASSERT_TRUE(room.ok()) << room.error().text();
  std::vector<WrittenChunk> written;
  written.reserve(chunks);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    written.push_back({0, chunk, {.offset = room.value().free_from + 5 * chunk, .bytes = 5}});
  }
  const auto update = hdf5_format()->enter_chunks(path, room.value(), 1, written);
  ASSERT_TRUE(update.ok()) << update.error().text();
  ASSERT_TRUE(commit(path, update.value(), StepDurability::none).ok());
  room = hdf5_format()->make_room(path, 2);
  ASSERT_TRUE(room.ok()) << room.error().text();
  const auto array = room.value().map.get("a");
  ASSERT_TRUE(array.ok()) << array.error().text();
  EXPECT_EQ(array.value()->map.encoded()->grid.chunks(), 2 * chunks);
  EXPECT_EQ(array.value()->map.encoded()->place_of(chunks - 1), written.back().place);
  EXPECT_FALSE(array.value()->map.encoded()->place_of(chunks).has_value());
}

// A file that the library could not close would stay open in it, and crash the program at its end.
TEST(Hdf5Format, NothingStaysOpenWhereTheSystemRefusesToWrite) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto told = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{48}, rlim_t{4096}}) {
    const struct rlimit small { bytes, before.rlim_max };
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto room = hdf5_format()->lay_out(hdf5_example(), path);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(room.ok());
    EXPECT_NE(room.error().text().find("File too large"), std::string::npos) << room.error().text();
    EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  std::signal(SIGXFSZ, told);
  EXPECT_TRUE(hdf5_format()->lay_out(hdf5_example(), path).ok());
}

TEST(Hdf5Format, LaterStepsAreAlignedToo) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  constexpr std::int64_t alignment = 1 << 16;
  const ArrayDescription one{.name = "a", .shape = shape_of({1, alignment}), .grows = true};
  ASSERT_TRUE(make_file(*hdf5_format(), {.arrays = {one}, .alignment = alignment}, path).ok());
  const auto room = hdf5_format()->make_room(path, 7);
  ASSERT_TRUE(room.ok()) << room.error().text();
  EXPECT_TRUE(room.value().map.groups.empty());
  for (std::int64_t step = 0; step < 7; ++step) {
    EXPECT_EQ(room.value().map.arrays[0].map.place_of({step, 0})->offset % alignment, 0) << step;
  }
}

TEST(Hdf5Format, ManySmallArraysLieNextToEachOther) {
  TestFolder folder;
  constexpr std::int64_t bytes = 1 << 12;
  FileDescription file;
  for (int number = 0; number < 300; ++number) {
    file.arrays.push_back({.name = fmt::format("variable {}", number),
                           .shape = shape_of({bytes}),
                           .type = array::ElementKind::uint8,
                           .dimension_names = {"x"}});
  }
  const auto room = hdf5_format()->lay_out(file, folder.path("a.h5"));
  ASSERT_TRUE(room.ok()) << room.error().text();
  const std::int64_t first = room.value().map.arrays.front().map.dense()->offset;
  EXPECT_EQ(first % alignment_of(0, 300 * bytes), 0);
  for (std::size_t i = 0; i < file.arrays.size(); ++i) {
    const std::int64_t place = room.value().map.arrays[i].map.dense()->offset;
    EXPECT_EQ(place, first + static_cast<std::int64_t>(i) * bytes) << i;
  }
}

// Their indices move what they hold, or get places only when the library writes.
TEST(Hdf5Format, StepsAreNotAddedWhereAKilledRunCouldLoseSome) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const auto expect_refused = [&](hid_t access, bool early) {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    const std::array<hsize_t, 1> size = {3};
    const std::array<hsize_t, 1> most = {H5S_UNLIMITED};
    const hid_t space = H5Screate_simple(1, size.data(), most.data());
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, size.data());
    if (early) H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Dclose(H5Dcreate2(file, "a", H5T_NATIVE_INT, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
    const auto room = hdf5_format()->make_room(path, 5);
    ASSERT_FALSE(room.ok());
    EXPECT_EQ(room.error().code, ErrorCode::unsupported);
  };
  expect_refused(H5P_DEFAULT, true);
  const hid_t latest = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(latest, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  expect_refused(latest, false);
  expect_refused(latest, true);  // would be filled with zeros through memory
  H5Pclose(latest);
}

// ---- Files of others --------------------------------------------------------------------------

class ForeignFile {
 public:
  explicit ForeignFile(std::string path)
      : path_(std::move(path)),
        file_(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~ForeignFile() { close(); }
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;

  void close() {
    if (file_ >= 0) H5Fclose(file_);
    file_ = -1;
  }
  [[nodiscard]] hid_t id() const { return file_; }

  // 7 x 9 numbers 0, 3, 6, ... plus 1.
  template <typename Prepare>
  void add(const char* name, hid_t type, const Prepare& prepare) {
    const std::array<hsize_t, 2> sizes = {7, 9};
    const hid_t space = H5Screate_simple(2, sizes.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    prepare(creation);
    const hid_t dataset = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ASSERT_GE(dataset, 0) << name;
    std::vector<std::int32_t> values(63);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int32_t>(i * 3 + 1);
    }
    EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
  }

 private:
  std::string path_;
  hid_t file_;
};

constexpr std::array<hsize_t, 2> small_chunk = {2, 4};

void write_foreign_file(const std::string& path) {
  ForeignFile file(path);
  const auto nothing = [](hid_t /*creation*/) {};
  const auto chunked = [](hid_t creation) { H5Pset_chunk(creation, 2, small_chunk.data()); };
  file.add("contiguous", H5T_STD_I32LE, nothing);
  file.add("big_endian", H5T_STD_I32BE, nothing);
  file.add("chunked", H5T_STD_I32LE, chunked);
  file.add("compact", H5T_STD_I32LE, [](hid_t creation) { H5Pset_layout(creation, H5D_COMPACT); });
  file.add("filtered", H5T_STD_I32LE, [&](hid_t creation) {
    chunked(creation);
    H5Pset_scaleoffset(creation, H5Z_SO_INT, 0);
  });
  file.add("external", H5T_STD_I32LE,
           [&](hid_t creation) { H5Pset_external(creation, (path + ".outside").c_str(), 0, 252); });
  file.add("odd_type", H5T_VAX_F32, nothing);
  // A cycle, which must not be walked for ever, and a link that leads nowhere.
  const hid_t group = H5Gcreate2(file.id(), "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_hard(file.id(), "/", group, "up", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/none", group, "nowhere", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("/etc/passwd", "/", group, "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(group);
  const hid_t scalar_space = H5Screate(H5S_SCALAR);
  const hid_t scalar = H5Dcreate2(file.id(), "scalar", H5T_STD_I32LE, scalar_space, H5P_DEFAULT,
                                  H5P_DEFAULT, H5P_DEFAULT);
  const std::int32_t one = 1;
  H5Dwrite(scalar, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one);
  H5Dclose(scalar);
  H5Sclose(scalar_space);
  const std::array<hsize_t, 2> huge = {hsize_t{1} << 30, hsize_t{1} << 29};
  const hid_t space = H5Screate_simple(2, huge.data(), nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  chunked(creation);
  H5Dclose(
      H5Dcreate2(file.id(), "huge_grid", H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Dclose(H5Dcreate2(file.id(), "nothing_written", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT,
                      H5P_DEFAULT));
  H5Pclose(creation);
  H5Sclose(space);
}

// The path of a dimension may be longer than any one of its names.
TEST(Hdf5Format, DimensionsDeepInGroupsAreNamed) {
  TestFolder folder;
  const std::string path = folder.path("deep.h5");
  const std::string part(255, 'g');
  const std::string deep = part + '/' + part + '/' + part + '/' + part + '/' + part + "/x";
  {
    const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(links.id(), 1);
    const hsize_t extent = 3;
    const Hdf5Handle space(H5Screate_simple(1, &extent, nullptr));
    const auto make = [&](const std::string& name) {
      return Hdf5Handle(H5Dcreate2(file.id(), name.c_str(), H5T_IEEE_F64LE, space.id(), links.id(),
                                   H5P_DEFAULT, H5P_DEFAULT));
    };
    const Hdf5Handle scale = make(deep);
    const Hdf5Handle array = make("array");
    ASSERT_GE(H5DSset_scale(scale.id(), "x"), 0);
    ASSERT_GE(H5DSattach_scale(array.id(), scale.id(), 0), 0);
  }
  const auto map = hdf5_format()->open(path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  const std::vector<std::string> names = {"x"};
  for (const std::string& name : {std::string("array"), deep}) {
    const StoredArray* const found = map.value().find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->description.dimension_names, names) << name;
  }
}

TEST(Hdf5Format, ReadsForeignFilesAndRefusesByName) {
  TestFolder folder;
  const std::string path = folder.path("f.h5");
  write_foreign_file(path);
  const auto map = hdf5_format()->open(path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  for (const char* name : {"contiguous", "big_endian", "chunked", "scalar"}) {
    const auto found = map.value().get(name);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_EQ(wrong_elements(found.value()->map, 1), 0) << name;
  }
  EXPECT_EQ(map.value().find("big_endian")->map.byte_order, ByteOrder::big);
  for (const char* name : {"nothing_written", "huge_grid"}) {
    const auto nothing = map.value().get(name);
    ASSERT_TRUE(nothing.ok()) << nothing.error().text();
    EXPECT_FALSE(nothing.value()->map.place_of({5, 5}).has_value()) << name;
  }
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"compact", "compact"},
      {"filtered", "scaleoffset"},
      {"external", "external"},
      {"odd_type", "neither numbers"}};
  EXPECT_EQ(map.value().refused.size(), refused.size());
  for (const auto& [name, reason] : refused) {
    const auto found = map.value().get(name);
    ASSERT_FALSE(found.ok()) << name;
    EXPECT_NE(found.error().text().find(reason), std::string::npos) << found.error().text();
    EXPECT_NE(found.error().text().find(name), std::string::npos) << found.error().text();
  }
}

std::vector<char> bytes_of_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_bytes(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST(Hdf5Format, AProgramAndAForkReadTheSame) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "there is no program in builds with the thread sanitizer";
#endif
  TestFolder folder;
  const auto program = find_sandbox_program("weir-hdf5-header");
  ASSERT_TRUE(program.has_value());
  const std::string strange = folder.path("-v $HOME 'x'\n\xff.h5");
  write_foreign_file(strange);
  write_foreign_file(folder.path("cut.h5"));
  std::filesystem::resize_file(folder.path("cut.h5"), 900);
  for (const std::string& path :
       {strange, folder.path("cut.h5"), folder.path("none.h5"), folder.path("."), std::string()}) {
    for (const auto question : {Hdf5Question::header, Hdf5Question::unfinished}) {
      const auto by_program = read_hdf5_elsewhere(program, path, question);
      const auto by_fork = read_hdf5_elsewhere(std::nullopt, path, question);
      EXPECT_EQ(by_program.ok(), path == strange) << path;
      ASSERT_EQ(by_program.ok(), by_fork.ok()) << path;
      if (by_fork) {
        EXPECT_TRUE(by_program.value() == by_fork.value()) << path;
      } else {
        EXPECT_EQ(by_program.error().text(), by_fork.error().text());
        EXPECT_EQ(by_program.error().code, by_fork.error().code);
      }
    }
  }
}

// Bob Jenkins' lookup3, the checksum of HDF5's metadata.
std::uint32_t lookup3(const char* bytes, std::size_t count) {
  const auto turned = [](std::uint32_t x, unsigned by) { return x << by | x >> (32U - by); };
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4 && at + i < count; ++i) {
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8U * i);
    }
    return value;
  };
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(count);
  std::uint32_t b = a;
  std::uint32_t c = a;
  std::size_t at = 0;
  for (; count - at > 12; at += 12) {
    a += word(at), b += word(at + 4), c += word(at + 8);
    a -= c, a ^= turned(c, 4), c += b;
    b -= a, b ^= turned(a, 6), a += c;
    c -= b, c ^= turned(b, 8), b += a;
    a -= c, a ^= turned(c, 16), c += b;
    b -= a, b ^= turned(a, 19), a += c;
    c -= b, c ^= turned(b, 4), b += a;
  }
  a += word(at), b += word(at + 4), c += word(at + 8);
  c ^= b, c -= turned(b, 14);
  a ^= c, a -= turned(c, 11);
  b ^= a, b -= turned(a, 25);
  c ^= b, c -= turned(b, 16);
  a ^= c, a -= turned(c, 4);
  b ^= a, b -= turned(a, 14);
  c ^= b, c -= turned(b, 24);
  return c;
}

// A chunk index that claims 2^44 chunks: the library asks for each of them when it counts them.
TEST(Hdf5Format, WhatIsUnfinishedIsFoundInAProcessThatMayBeEnded) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "there is no program in builds with the thread sanitizer";
#endif
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const ArrayDescription one{
      .name = "a", .shape = shape_of({1, 6}), .grows = true, .chunk_extents = array::Indices{1, 2}};
  ASSERT_TRUE(make_file(*hdf5_format(), {.arrays = {one}}, path).ok());
  std::vector<char> bytes = bytes_of_file(path);
  constexpr std::string_view signature = "EAHD";
  const auto header =
      std::search(bytes.begin(), bytes.end(), signature.begin(), signature.end()) - bytes.begin();
  constexpr std::ptrdiff_t until_sum = 4 + 8 + 6 * 8 + 8;
  constexpr std::ptrdiff_t most_index_set = 12 + 4 * 8;
  ASSERT_LT(header + until_sum + 4, std::ssize(bytes));
  char* const start = bytes.data() + header;
  std::uint32_t sum = lookup3(start, until_sum);
  ASSERT_EQ(std::memcmp(start + until_sum, &sum, sizeof sum), 0);
  const std::uint64_t claimed = std::uint64_t{1} << 44U;
  std::memcpy(start + most_index_set, &claimed, sizeof claimed);
  sum = lookup3(start, until_sum);
  std::memcpy(start + until_sum, &sum, sizeof sum);
  write_bytes(path, bytes);
  const auto program = find_sandbox_program("weir-hdf5-header");
  ASSERT_TRUE(program.has_value());
  const auto left = read_hdf5_elsewhere(program, path, Hdf5Question::unfinished,
                                        {.time = std::chrono::milliseconds(500)});
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.error().code, ErrorCode::corrupt);
}

TEST(Hdf5Format, DamagedFilesAreErrorsOrLieInside) {
  TestFolder folder;
  const std::string good = folder.path("good.h5");
  ASSERT_TRUE(make_file(*hdf5_format(), hdf5_example(), good).ok());
  const std::vector<char> bytes = bytes_of_file(good);
  const std::string path = folder.path("bad.h5");
  const auto check = [&](std::size_t size) {
    const auto map = hdf5_format()->open(path);
    if (!map) {
      EXPECT_FALSE(map.error().text().empty());
      return;
    }
    for (const StoredArray& one : map.value().arrays) {
      const auto place = one.map.place_of(array::Indices(one.map.shape.dimensions()));
      if (!place || one.map.shape.elements() == 0) continue;
      EXPECT_GE(place->offset, 0);
      EXPECT_LE(place->offset + one.map.type.bytes(), static_cast<std::int64_t>(size));
    }
  };
  // In place: a file that is emptied and written again is flushed by some file systems.
  write_bytes(path, bytes);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t at, char character) {
    file.seekp(static_cast<std::streamoff>(at)).put(character).flush();
  };
  for (std::size_t at = 0; at < bytes.size(); at += 47) {
    put(at, static_cast<char>(bytes[at] ^ (at % 3 == 0 ? 0x80 : 0xff)));
    check(bytes.size());
    put(at, bytes[at]);
  }
  for (std::size_t size = bytes.size(); size > 251; size -= 251) {
    std::filesystem::resize_file(path, size);
    check(size);
  }
  for (const std::string& text : {std::string(), std::string("no HDF5 at all")}) {
    write_bytes(path, {text.begin(), text.end()});
    EXPECT_FALSE(hdf5_format()->open(path).ok());
  }
  EXPECT_FALSE(hdf5_format()->open(folder.path("none.h5")).ok());
  EXPECT_FALSE(make_file(*hdf5_format(), hdf5_example(), folder.path("none/a.h5")).ok());
}

TEST(Hdf5Format, ADimensionMayNotHaveTheNameOfAnotherArray) {
  TestFolder folder;
  FileDescription file = hdf5_example();
  file.arrays[1].shape = shape_of({10, 2});
  file.arrays[1].dimension_names.clear();
  EXPECT_FALSE(make_file(*hdf5_format(), file, folder.path("a.h5")).ok());
}

}  // namespace
}  // namespace weir::storage
