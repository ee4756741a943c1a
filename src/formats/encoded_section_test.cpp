// Arrays in encoded chunks, through sections: written in parts, read back, opened again; what is
// missing, damaged or hostile.
#include "sections/encoded_section.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "codecs/codec_steps.hpp"
#include "engines/test_faulty_engine.hpp"
#include "formats/format.hpp"
#include "formats/open_any.hpp"
#include "sections/encoded_array.hpp"
#include "sections/read_section.hpp"
#include "sections/write_section.hpp"
#include "system/test_folder.hpp"

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): fsync is one for the program
bool failing_syncs = false;

}  // namespace

// The system's, but for storage that fails when a test says so.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the system's are reserved
extern "C" int fsync(int descriptor) {
  if (!failing_syncs) return static_cast<int>(::syscall(SYS_fsync, descriptor));
  errno = EIO;
  return -1;
}

// Returns the path of tests/formats/samples.
extern "C" const char* weir_samples();

namespace weir::storage {
namespace {

using array::ElementKind;
using array::Indices;
using array::Layout;
using array::Section;
using array::Shape;

// Whole numbers, so that they are the same after zfp with a tolerance below 1.
std::vector<double> some_numbers(const Shape& shape) {
  std::vector<double> numbers(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 251);
  return numbers;
}

Section all_of(const Shape& shape) {
  Section section;
  for (const std::int64_t extent : shape.extents()) {
    section.start.push_back(0);
    section.count.push_back(extent);
    section.stride.push_back(1);
  }
  return section;
}

Layout memory_of(const Section& section) {
  return Layout::packed(section.count, sizeof(double), array::Order::row_major).value();
}

Status write_all(const StoredArray& array, const std::vector<double>& numbers) {
  DataFileCache files(DataFileCache::Use::writing);
  const Section section = all_of(array.map.shape);
  return write_section(array, section, reinterpret_cast<const std::byte*>(numbers.data()),
                       memory_of(section), files);
}

Status read(const StoredArray& array, const Section& section, std::vector<double>& numbers,
            DecodedChunks* kept = nullptr) {
  DataFileCache files(DataFileCache::Use::reading);
  std::int64_t elements = 1;
  for (const std::int64_t count : section.count) elements *= count;
  numbers.assign(static_cast<std::size_t>(elements), -1);
  return read_section(array, section, reinterpret_cast<std::byte*>(numbers.data()),
                      memory_of(section), files, serial_buffer_bytes, nullptr, kept);
}

// Bytes of a file are other ones, and its state says nothing of that.
void change_unseen(const std::string& path) {
  struct stat before {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const std::string other(static_cast<std::size_t>(before.st_size), '?');
  file.write(other.data(), static_cast<std::streamsize>(other.size()));
  file.close();
  const std::array<timespec, 2> times = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
}

class ZarrCodecs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    description_.codecs = parse_pipeline(GetParam()).value();
    for (const Codec& codec : description_.codecs) {
      if (!has_library(codec)) GTEST_SKIP() << "this build has no library for it";
    }
  }
  [[nodiscard]] std::string path() const { return folder_.path("a.zarr"); }
  void lay_out() {
    const auto room = find_format("zarr").value()->lay_out({.arrays = {description_}}, path());
    ASSERT_TRUE(room.ok()) << room.error().text();
    // Through the map that laying out gave, not the one of opening.
    const Status written =
        write_all(room.value().map.arrays.front(), some_numbers(description_.shape));
    ASSERT_TRUE(written.ok()) << written.error().text();
    ASSERT_TRUE(commit(path(), room.value().update, StepDurability::none).ok());
    open();
    std::vector<double> is;
    ASSERT_TRUE(read(array_, all_of(description_.shape), is).ok());
    EXPECT_EQ(is, some_numbers(description_.shape));
  }
  void open() {
    const auto map = find_format("zarr").value()->open(path());
    ASSERT_TRUE(map.ok());
    const auto found = map.value().get("a");
    ASSERT_TRUE(found.ok()) << found.error().text();
    array_ = *found.value();
  }

  TestFolder folder_;
  ArrayDescription description_{
      .name = "a", .shape = Shape::create({11, 9}).value(), .chunk_extents = Indices{4, 5}};
  StoredArray array_{description_,
                     {.shape = description_.shape,
                      .type = description_.type,
                      .files = DataFiles::one(""),
                      .extents = {}}};
};

TEST_P(ZarrCodecs, KeepsWhatWasWrittenInParts) {
  for (const array::Order order : {array::Order::row_major, array::Order::column_major}) {
    std::filesystem::remove_all(path());
    description_.order = order;
    lay_out();
    ASSERT_NE(array_.map.encoded(), nullptr);
    EXPECT_EQ(pipeline_text(array_.description.codecs).substr(0, 3),
              pipeline_text(description_.codecs).substr(0, 3));
    auto expected = some_numbers(description_.shape);
    const Status written = write_all(array_, expected);
    ASSERT_TRUE(written.ok()) << written.error().text();
    std::mt19937 random(5);
    for (int turn = 0; turn < 8; ++turn) {
      Section section;
      for (const std::int64_t extent : description_.shape.extents()) {
        section.start.push_back(std::uniform_int_distribution<std::int64_t>(0, extent / 2)(random));
        section.stride.push_back(1 + turn % 2);
        section.count.push_back(extent / 4);
      }
      const std::vector<double> numbers(
          static_cast<std::size_t>(section.count[0] * section.count[1]), 1000.0 + turn);
      DataFileCache files(DataFileCache::Use::writing);
      ASSERT_TRUE(write_section(array_, section, reinterpret_cast<const std::byte*>(numbers.data()),
                                memory_of(section), files)
                      .ok());
      for (std::int64_t i = 0; i < section.count[0]; ++i) {
        for (std::int64_t j = 0; j < section.count[1]; ++j) {
          const std::int64_t row = section.start[0] + i * section.stride[0];
          const std::int64_t column = section.start[1] + j * section.stride[1];
          expected[static_cast<std::size_t>(row * 9 + column)] = 1000.0 + turn;
        }
      }
      std::vector<double> is;
      open();
      ASSERT_TRUE(read(array_, all_of(description_.shape), is).ok());
      EXPECT_EQ(is, expected);
    }
  }
}

TEST_P(ZarrCodecs, KeepsShardsWholeWhenPartsAreWritten) {
  description_.shard_extents = Indices{8, 5};
  lay_out();
  auto expected = some_numbers(description_.shape);
  ASSERT_TRUE(write_all(array_, expected).ok());
  const Section middle{.start = {3, 4}, .count = {4, 2}, .stride = {1, 1}};
  const std::vector<double> numbers(8, 5000);
  open();
  DataFileCache files(DataFileCache::Use::writing);
  ASSERT_TRUE(write_section(array_, middle, reinterpret_cast<const std::byte*>(numbers.data()),
                            memory_of(middle), files)
                  .ok());
  for (std::size_t row = 3; row < 7; ++row) {
    for (std::size_t column = 4; column < 6; ++column) expected[row * 9 + column] = 5000;
  }
  open();
  std::vector<double> is;
  const Status status = read(array_, all_of(description_.shape), is);
  ASSERT_TRUE(status.ok()) << status.error().text();
  EXPECT_EQ(is, expected);
}

// A chunk or shard may hold steps that are committed: when the system crashes, what has taken its
// place has to be on the storage.
TEST_P(ZarrCodecs, ReplacesWhatIsThereOnlyByWhatIsDurable) {
  for (const bool in_shards : {false, true}) {
    std::filesystem::remove_all(path());
    if (in_shards) description_.shard_extents = Indices{8, 5};
    lay_out();
    const auto before = some_numbers(description_.shape);
    const Section middle{.start = {3, 4}, .count = {4, 2}, .stride = {1, 1}};
    const std::vector<double> numbers(8, 5000);
    const auto write = [&] {
      DataFileCache files(DataFileCache::Use::writing);
      return write_section(array_, middle, reinterpret_cast<const std::byte*>(numbers.data()),
                           memory_of(middle), files);
    };
    failing_syncs = true;
    const Status failed = write();
    failing_syncs = false;
    ASSERT_FALSE(failed.ok()) << "it was replaced without fsync";
    EXPECT_EQ(failed.error().system_error, EIO);
    open();
    std::vector<double> is;
    ASSERT_TRUE(read(array_, all_of(description_.shape), is).ok());
    EXPECT_EQ(is, before);
    EXPECT_TRUE(write().ok());
  }
}

// What moves the encoded bytes loses some and says that all went well; then the array's shape has
// elements that its chunks have not.
TEST_P(ZarrCodecs, BytesThatWentNowhereAreAnError) {
  for (const bool in_shards : {false, true}) {
    std::filesystem::remove_all(path());
    if (in_shards) description_.shard_extents = Indices{8, 10};
    lay_out();
    const std::vector<double> numbers = some_numbers(description_.shape);
    const Section whole = all_of(description_.shape);
    for (const std::int64_t moved : {0, 1}) {
      const Fault fault{.number = 2, .is_once = true, .is_dropped = true, .moved = moved};
      DataFileCache files(DataFileCache::Use::writing, make_faulty_mover(fault));
      const Status written =
          write_section(array_, whole, reinterpret_cast<const std::byte*>(numbers.data()),
                        memory_of(whole), files);
      ASSERT_FALSE(written.ok());
      EXPECT_EQ(written.error().code, ErrorCode::short_transfer) << written.error().text();
    }
    StoredArray longer = array_;
    longer.map.shape = Shape::create({13, 9}).value();
    const Status beyond = write_all(longer, some_numbers(longer.map.shape));
    ASSERT_FALSE(beyond.ok());
    EXPECT_EQ(beyond.error().code, ErrorCode::short_transfer) << beyond.error().text();
    std::vector<double> is;
    const Status read_beyond = read(longer, all_of(longer.map.shape), is);
    ASSERT_FALSE(read_beyond.ok());
    EXPECT_EQ(read_beyond.error().code, ErrorCode::short_transfer) << read_beyond.error().text();
    // What was replaced in whole or not at all can be read.
    ASSERT_TRUE(read(array_, whole, is).ok());
    EXPECT_EQ(is, numbers);
  }
}

TEST_P(ZarrCodecs, GivesTheFillValueWhereNothingIs) {
  const double fill = 7;
  description_.fill.resize(sizeof(fill));
  std::memcpy(description_.fill.data(), &fill, sizeof(fill));
  lay_out();
  auto numbers = some_numbers(description_.shape);
  ASSERT_TRUE(write_all(array_, numbers).ok());
  std::filesystem::remove(array_.map.files.path(3));
  for (std::int64_t row = 4; row < 8; ++row) {
    for (std::int64_t column = 5; column < 9; ++column) {
      numbers[static_cast<std::size_t>(row * 9 + column)] = fill;
    }
  }
  std::vector<double> is;
  ASSERT_TRUE(read(array_, all_of(description_.shape), is).ok());
  EXPECT_EQ(is, numbers);
}

// Chunks are 4 x 5, so that rows are parts of two of them.
TEST_P(ZarrCodecs, DecodesAChunkOnceForManyRows) {
  lay_out();
  const auto numbers = some_numbers(description_.shape);
  const auto section = [](std::int64_t row) {
    return Section{.start = {row, 0}, .count = {1, 9}, .stride = {1, 1}};
  };
  const auto expected = [&](std::int64_t row) {
    return std::vector<double>(numbers.begin() + row * 9, numbers.begin() + row * 9 + 9);
  };
  DecodedChunks kept;
  std::vector<double> is;
  ASSERT_TRUE(read(array_, section(0), is, &kept).ok());
  EXPECT_EQ(is, expected(0));
  const std::string file = array_.map.files.path(0);
  change_unseen(file);
  for (std::int64_t row = 1; row < 4; ++row) {
    const Status status = read(array_, section(row), is, &kept);
    ASSERT_TRUE(status.ok()) << status.error().text();
    EXPECT_EQ(is, expected(row));
  }
  EXPECT_FALSE(read(array_, section(1), is).ok()) << "the chunk was not changed";
  // A file that was changed since is read.
  std::filesystem::resize_file(file, std::filesystem::file_size(file) + 1);
  EXPECT_FALSE(read(array_, section(1), is, &kept).ok());
  // Whole chunks are not kept.
  DecodedChunks others;
  const Section row_of_chunks{.start = {4, 0}, .count = {4, 9}, .stride = {1, 1}};
  ASSERT_TRUE(read(array_, row_of_chunks, is, &others).ok());
  EXPECT_EQ(others.bytes(), 0);
}

TEST_P(ZarrCodecs, KeepsDecodedChunksOfShardsApart) {
  description_.shard_extents = Indices{8, 10};
  lay_out();
  const auto numbers = some_numbers(description_.shape);
  DecodedChunks kept;
  for (const int turn : {0, 1}) {
    for (std::int64_t row = 0; row < 11; ++row) {
      std::vector<double> is;
      const Section section{.start = {row, 0}, .count = {1, 9}, .stride = {1, 1}};
      ASSERT_TRUE(read(array_, section, is, &kept).ok()) << turn;
      EXPECT_TRUE(std::equal(is.begin(), is.end(), numbers.begin() + row * 9)) << turn << row;
    }
  }
}

TEST(DecodedChunksKept, AreThoseUsedLastWithinTheirBytes) {
  constexpr std::int64_t each = 1000;
  const auto chunk = [] { return DecodedChunk::make(each).value(); };
  const FileState state{.device = 1, .file = 2, .bytes = 3, .seconds = 4, .nanoseconds = 5};
  FileState later = state;
  later.nanoseconds = 6;
  DecodedChunks kept;
  kept.keep({"a", 0, "v"}, state, chunk());
  const std::int64_t bytes = kept.bytes();
  EXPECT_GT(bytes, each);
  kept.set_most_bytes(2 * bytes);
  EXPECT_TRUE(kept.takes(each));
  kept.keep({"a", 1, "v"}, state, chunk());
  EXPECT_EQ(kept.bytes(), 2 * bytes);
  EXPECT_NE(kept.find({"a", 0, "v"}, state), nullptr);  // used last from here on
  EXPECT_EQ(kept.find({"a", 0, "w"}, state), nullptr);
  EXPECT_EQ(kept.find({"b", 0, "v"}, state), nullptr);
  kept.keep({"a", 2, "v"}, state, chunk());
  EXPECT_EQ(kept.find({"a", 1, "v"}, state), nullptr);
  EXPECT_NE(kept.find({"a", 0, "v"}, state), nullptr);
  EXPECT_EQ(kept.bytes(), 2 * bytes);
  // Again under its key: one of them.
  kept.keep({"a", 2, "v"}, later, chunk());
  EXPECT_EQ(kept.bytes(), 2 * bytes);
  EXPECT_EQ(kept.find({"a", 2, "v"}, state), nullptr);
  EXPECT_EQ(kept.bytes(), bytes);
  kept.set_most_bytes(bytes);
  EXPECT_NE(kept.find({"a", 0, "v"}, state), nullptr);
  EXPECT_TRUE(kept.takes(each));
  EXPECT_FALSE(kept.takes(each + 1));
  kept.set_most_bytes(bytes - 1);
  EXPECT_EQ(kept.bytes(), 0);
  kept.keep({"a", 0, "v"}, state, chunk());
  EXPECT_EQ(kept.bytes(), 0);
}

TEST_P(ZarrCodecs, NamesFileAndChunkOfDamage) {
  lay_out();
  ASSERT_TRUE(write_all(array_, some_numbers(description_.shape)).ok());
  const std::string file = array_.map.files.path(2);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  std::vector<double> is;
  const Status status = read(array_, all_of(description_.shape), is);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().text().find("chunk 2"), std::string::npos) << status.error().text();
  EXPECT_NE(status.error().text().find(file), std::string::npos) << status.error().text();
  // No file's length makes the reader allocate as much.
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
  EXPECT_FALSE(read(array_, all_of(description_.shape), is).ok());
}

INSTANTIATE_TEST_SUITE_P(Zarr, ZarrCodecs,
                         testing::Values("zstd", "blosc:zstd:3:bit", "gzip", "crc32c",
                                         "shuffle,zstd,crc32c", "zfp:0.01,crc32c"),
                         [](const auto& one) {
                           std::string name = one.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

// HDF5: bytes go behind the file's end, and the header is told of them when the step is committed.
class Hdf5Codecs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!find_format("hdf5").ok()) GTEST_SKIP() << "this build has no HDF5";
    const Pipeline pipeline = parse_pipeline(GetParam()).value();
    for (const Codec& codec : pipeline) {
      if (!has_library(codec)) GTEST_SKIP() << "this build has no library for it";
    }
  }
  [[nodiscard]] static const Format& format() { return *find_format("hdf5").value(); }
  [[nodiscard]] std::string path() const { return folder_.path("a.h5"); }
  [[nodiscard]] ArrayDescription description(const char* name, bool grows) const {
    return {.name = name,
            .shape = Shape::create({grows ? 1 : 11, 9}).value(),
            .grows = grows,
            .chunk_extents = Indices{grows ? 1 : 4, 5},
            .codecs = parse_pipeline(GetParam()).value()};
  }
  // Writes a section of every array at room's places, and enters and commits it.
  void write_and_commit(const Room& room, std::int64_t steps, const Section& of_step,
                        double first) {
    DataFileCache files(DataFileCache::Use::writing);
    std::vector<WrittenChunk> written;
    std::int64_t free = room.free_from;
    ASSERT_GE(free, 0);
    for (std::size_t i = 0; i < room.map.arrays.size(); ++i) {
      const StoredArray& array = room.map.arrays[i];
      const Section section = array.description.grows ? of_step : all_of(array.map.shape);
      if (!array.description.grows && steps > 1) continue;
      std::vector<double> numbers(static_cast<std::size_t>(section.count[0] * section.count[1]));
      for (double& number : numbers) number = first++;
      EncodedWriter writer(array.map, files, [&](std::int64_t bytes) {
        return Result<std::int64_t>(std::exchange(free, free + bytes));
      });
      const Status status =
          write_encoded_section(array, section, reinterpret_cast<const std::byte*>(numbers.data()),
                                memory_of(section), files, writer);
      ASSERT_TRUE(status.ok()) << status.error().text();
      for (const auto& one : writer.take_written()) {
        written.push_back({static_cast<std::int64_t>(i), one.chunk, one.place});
      }
    }
    const auto update = format().enter_chunks(path(), room, steps, written);
    ASSERT_TRUE(update.ok()) << update.error().text();
    const Status committed = commit(path(), update.value(), StepDurability::none);
    ASSERT_TRUE(committed.ok()) << committed.error().text();
  }
  // Every element is the one before and 1.
  void expect(const char* name, const Section& section, double first) {
    const auto map = format().open(path());
    ASSERT_TRUE(map.ok()) << map.error().text();
    const auto found = map.value().get(name);
    ASSERT_TRUE(found.ok()) << found.error().text();
    std::vector<double> numbers;
    const Status status = read(*found.value(), section, numbers);
    ASSERT_TRUE(status.ok()) << status.error().text();
    for (const double number : numbers) ASSERT_NEAR(number, first++, 0.01) << name;
  }

  TestFolder folder_;
};

TEST_P(Hdf5Codecs, EntersWhatWasWrittenStepByStep) {
  const FileDescription file{.arrays = {description("whole", false), description("steps", true)}};
  auto room = format().lay_out(file, path());
  ASSERT_TRUE(room.ok()) << room.error().text();
  const Section row{.start = {0, 0}, .count = {1, 9}, .stride = {1, 1}};
  write_and_commit(room.value(), 1, row, 0);
  expect("whole", all_of(Shape::create({11, 9}).value()), 0);
  expect("steps", row, 99);
  for (std::int64_t steps = 2; steps < 40; ++steps) {
    room = format().make_room(path(), steps);
    ASSERT_TRUE(room.ok()) << room.error().text();
    const Section last{.start = {steps - 1, 0}, .count = {1, 9}, .stride = {1, 1}};
    write_and_commit(room.value(), steps, last, 1000.0 * static_cast<double>(steps));
  }
  for (std::int64_t step = 1; step < 39; step += 4) {
    expect("steps", {.start = {step, 0}, .count = {1, 9}, .stride = {1, 1}},
           1000.0 * static_cast<double>(step + 1));
  }
  expect("steps", row, 99);
  expect("whole", all_of(Shape::create({11, 9}).value()), 0);
}

TEST_P(Hdf5Codecs, EntersTheSameChunkTwice) {
  auto room = format().lay_out({.arrays = {description("steps", true)}}, path());
  ASSERT_TRUE(room.ok()) << room.error().text();
  const Section row{.start = {0, 0}, .count = {1, 9}, .stride = {1, 1}};
  write_and_commit(room.value(), 1, row, 0);
  // The step that is there again, with the one that follows: shorter, longer and as long.
  for (const double first : {5.0, 123456.75, 123457.75}) {
    room = format().make_room(path(), 2);
    ASSERT_TRUE(room.ok()) << room.error().text();
    write_and_commit(room.value(), 2, row, first);
    expect("steps", row, first);
  }
}

// HDF5 has an index of its own for a dataset of one chunk.
TEST_P(Hdf5Codecs, EntersTheOnlyChunkOfTheOnlyArray) {
  ArrayDescription whole = description("whole", false);
  whole.chunk_extents = Indices{11, 9};
  const auto room = format().lay_out({.arrays = {whole}}, path());
  ASSERT_TRUE(room.ok()) << room.error().text();
  const Section all = all_of(Shape::create({11, 9}).value());
  write_and_commit(room.value(), 1, all, 0);
  expect("whole", all, 0);
}

// Chunks of several steps would be written again with each step, and not where nobody looks.
TEST_P(Hdf5Codecs, AddsNoStepsWhereChunksHoldSeveral) {
  ArrayDescription steps = description("steps", true);
  steps.chunk_extents = Indices{4, 5};
  const auto room = format().lay_out({.arrays = {steps}}, path());
  ASSERT_TRUE(room.ok()) << room.error().text();
  const Section row{.start = {0, 0}, .count = {1, 9}, .stride = {1, 1}};
  write_and_commit(room.value(), 1, row, 0);
  expect("steps", row, 0);
  const auto refused = format().make_room(path(), 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("steps each"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Hdf5, Hdf5Codecs,
                         testing::Values("zstd", "shuffle,deflate,fletcher32", "blosc",
                                         "zfp:0.001,fletcher32"),
                         [](const auto& one) {
                           std::string name = one.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

TEST(CodecsOfFormats, AreRefusedByNameWhereTheFormatHasNone) {
  const TestFolder folder;
  ArrayDescription one{.name = "a", .shape = Shape::create({8}).value()};
  one.codecs = parse_pipeline("crc32c").value();
  const auto laid_out = find_format("cdf5").value()->lay_out({.arrays = {one}}, folder.path("a"));
  ASSERT_FALSE(laid_out.ok());
  EXPECT_NE(laid_out.error().text().find("crc32c"), std::string::npos);
  one.codecs = parse_pipeline("fletcher32").value();
  const auto zarr = find_format("zarr").value()->lay_out({.arrays = {one}}, folder.path("b"));
  ASSERT_FALSE(zarr.ok());
  EXPECT_NE(zarr.error().text().find("fletcher32"), std::string::npos);
}

// Files of h5py with hdf5plugin, and of zarr-python: tests/formats/samples/make_samples.py.
class ForeignFiles : public testing::TestWithParam<const char*> {};

TEST_P(ForeignFiles, AreDecoded) {
  if (std::string(GetParam()) == "filters.h5" && !find_format("hdf5").ok()) {
    GTEST_SKIP() << "this build has no HDF5";
  }
  const auto opened = open_any(std::string(weir_samples()) + "/" + GetParam());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  for (const StoredArray& one : opened.value().map.arrays) {
    ASSERT_NE(one.map.encoded(), nullptr) << one.description.name;
    std::vector<double> numbers;
    const Status status = read(one, all_of(one.map.shape), numbers);
    ASSERT_TRUE(status.ok()) << status.error().text();
    ASSERT_EQ(numbers.size(), 99U);
    const double bound = one.description.name == "zfp" ? 0.01 : 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_NEAR(numbers[i], static_cast<double>(i), bound) << one.description.name;
    }
  }
  for (const RefusedArray& one : opened.value().map.refused) {
    // A codec that no build has, and those that this one has no library for.
    EXPECT_TRUE(one.name == "lz4" || one.reason.find("no library") != std::string::npos)
        << one.name << ": " << one.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, ForeignFiles, testing::Values("filters.h5", "codecs.zarr"),
                         [](const auto& one) {
                           const std::string name = one.param;
                           return name.substr(name.find('.') + 1);
                         });

}  // namespace
}  // namespace weir::storage
