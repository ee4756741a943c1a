#include "formats/hdf5/hdf5_format.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "formats/dimension_names.hpp"
#include "formats/hdf5/test_example.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

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
    // The bytes of the chunks are in the file.
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
    // The steps that are known are all that are there, or fewer.
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

// The indices of some files move what they hold, or get places only when the library writes.
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

TEST(Hdf5Format, ADimensionMayNotHaveTheNameOfAnotherArray) {
  TestFolder folder;
  FileDescription file = hdf5_example();
  file.arrays[1].shape = shape_of({10, 2});
  file.arrays[1].dimension_names.clear();
  EXPECT_FALSE(make_file(*hdf5_format(), file, folder.path("a.h5")).ok());
}

}  // namespace
}  // namespace weir::storage
