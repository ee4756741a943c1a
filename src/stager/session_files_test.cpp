#include "stager/session_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "formats/file_map_message.hpp"
#include "formats/format.hpp"
#include "sections/read_section.hpp"
#include "system/file.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::stager {
namespace {

constexpr std::int64_t file_block_bytes = 4;

// Each rank names the file itself, so one path has several names in a job.
TEST(SessionFiles, WriteOverlappingExtentsOfSeveralRanksInTheOrderOfTheirArrival) {
  storage::TestFolder folder;
  const std::string path = folder.path("f");
  storage::write_text(path, "");
  const transport::NameFile first{
      .file = 1, .path = path, .bytes_when_made = 0, .known = std::nullopt};
  const transport::NameFile second{
      .file = 7, .path = path, .bytes_when_made = 0, .known = std::nullopt};
  const std::string blocks = "aaaabbbbccccdddd";
  std::vector<std::byte> memory(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) memory[i] = static_cast<std::byte>(blocks[i]);
  SessionFiles files(memory, file_block_bytes, nullptr, nullptr);
  const auto extent = [](std::int64_t block, std::size_t file, std::int64_t offset) {
    return BlockExtent{.block = block, .at = 0, .bytes = 4, .file = file, .offset = offset};
  };
  const Write job{.job = 1,
                  .session = 1,
                  .files = {first, second},
                  .extents = {extent(0, 0, 8), extent(1, 1, 0), extent(2, 0, 2), extent(3, 1, 6)}};
  const Status written = files.execute(job);
  ASSERT_TRUE(written.ok()) << written.error().text();
  ASSERT_TRUE(files.execute(Seal{}).ok());
  EXPECT_EQ(storage::text_of(path), "bbccccddddaa");
}

TEST(SessionFiles, WriteSpilledBytesAndThoseInMemory) {
  storage::TestFolder folder;
  const std::string path = folder.path("f");
  storage::write_text(path, "");
  auto spill = SpillFile::create(folder.path("spill"), 1 << 20, file_block_bytes);
  ASSERT_TRUE(spill.ok()) << spill.error().text();
  const std::string spilled = "ccaadd";
  std::vector<std::byte> bytes(spilled.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(spilled[i]);
  const std::span<std::byte> all(bytes);
  ASSERT_TRUE(spill.value()->put(3, 11, all.first(4)).ok());
  ASSERT_TRUE(spill.value()->put(1, 12, all.subspan(4)).ok());
  std::vector<std::byte> memory(file_block_bytes, std::byte{'b'});
  SessionFiles files(memory, file_block_bytes, spill.value().get(), nullptr);
  const transport::NameFile named{
      .file = 1, .path = path, .bytes_when_made = 0, .known = std::nullopt};
  Write job{.job = 1, .session = 1, .files = {named}, .extents = {}};
  job.spilled = {{.slot = 3, .bytes = 4, .stamp = 11}, {.slot = 1, .bytes = 2, .stamp = 12}};
  job.extents = {{.block = 0, .at = 0, .bytes = 2, .offset = 6, .is_spilled = true},
                 {.block = 0, .at = 2, .bytes = 2, .offset = 0, .is_spilled = true},
                 {.block = 0, .at = 0, .bytes = 4, .offset = 2},
                 {.block = 1, .at = 0, .bytes = 2, .offset = 8, .is_spilled = true}};
  const Status written = files.execute(job);
  ASSERT_TRUE(written.ok()) << written.error().text();
  ASSERT_TRUE(files.execute(Seal{}).ok());
  EXPECT_EQ(storage::text_of(path), "aabbbbccdd");
  // Bytes that are not those that were put reach no file.
  job.spilled[0].stamp = 10;
  const Status refused = files.execute(job);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  ASSERT_TRUE(files.execute(Seal{}).ok());
  EXPECT_EQ(storage::text_of(path), "aabbbbccdd");
}

// Returns how many of these pages of the file are in the page cache.
std::int64_t cached_pages(const std::string& path, std::int64_t first, std::int64_t count) {
  constexpr std::int64_t page_bytes = 4096;
  const auto file = storage::File::open(path, {});
  EXPECT_TRUE(file);
  void* const mapped = ::mmap(nullptr, static_cast<std::size_t>(count * page_bytes), PROT_READ,
                              MAP_SHARED, file.value().descriptor(), first * page_bytes);
  EXPECT_NE(mapped, MAP_FAILED);
  std::vector<unsigned char> resident(static_cast<std::size_t>(count));
  EXPECT_EQ(::mincore(mapped, static_cast<std::size_t>(count * page_bytes), resident.data()), 0);
  ::munmap(mapped, static_cast<std::size_t>(count * page_bytes));
  return std::ranges::count_if(resident, [](unsigned char one) { return (one & 1) != 0; });
}

bool has_direct_io(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  if (file >= 0) ::close(file);
  return file >= 0;
}

// Whether the page cache has the whole pages of a job that begins and ends within a page.
TEST(SessionFiles, WriteLongStretchesPastThePageCacheIfTheyAreTold) {
  constexpr std::int64_t least = std::int64_t{1} << 20;
  constexpr std::int64_t begin = 1000;
  constexpr std::int64_t row = 1000;  // as a block has what is next to other ranks' bytes
  struct Case {
    std::int64_t bytes;
    WritesBy by;
    bool is_direct;
  };
  for (const Case& one :
       {Case{least, WritesBy::direct_io, true}, Case{least - 1, WritesBy::direct_io, false},
        Case{least, WritesBy::page_cache, false}}) {
    SCOPED_TRACE(one.bytes);
    storage::TestFolder folder;
    const std::string path = folder.path("f");
    storage::write_text(path, "before");
    if (!has_direct_io(path)) GTEST_SKIP() << "the file system of " << path << " has no O_DIRECT";
    std::vector<std::byte> memory(static_cast<std::size_t>(one.bytes));
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i % 251);
    SessionFiles files(memory, one.bytes, nullptr, nullptr, one.by);
    Write job{.job = 1,
              .session = 1,
              .files = {{.file = 1, .path = path, .bytes_when_made = 0, .known = std::nullopt}},
              .extents = {}};
    for (std::int64_t at = 0; at < one.bytes; at += row) {
      job.extents.push_back({.block = 0,
                             .at = at,
                             .bytes = std::min(row, one.bytes - at),
                             .file = 0,
                             .offset = begin + at});
    }
    std::ranges::reverse(job.extents);
    const Status written = files.execute(job);
    ASSERT_TRUE(written.ok()) << written.error().text();
    ASSERT_TRUE(files.execute(Seal{}).ok());
    const std::int64_t pages = (begin + one.bytes) / 4096 - 1;
    EXPECT_EQ(cached_pages(path, 1, pages), one.is_direct ? 0 : pages);
    const std::string now = storage::text_of(path);
    ASSERT_EQ(now.size(), memory.size() + begin);
    EXPECT_EQ(now.substr(0, 6), "before");
    EXPECT_EQ(std::memcmp(now.data() + begin, memory.data(), memory.size()), 0);
  }
}

// A file that took the place of the one that was written gets nothing of the next step's.
TEST(SessionFiles, WritePastThePageCacheToTheFileThatHasTheNameNow) {
  constexpr std::int64_t bytes = std::int64_t{1} << 20;
  storage::TestFolder folder;
  const std::string path = folder.path("f");
  std::vector<std::byte> memory(bytes, std::byte{'a'});
  SessionFiles files(memory, bytes, nullptr, nullptr, WritesBy::direct_io);
  const Write job{.job = 1,
                  .session = 1,
                  .files = {{.file = 1, .path = path, .bytes_when_made = 0, .known = std::nullopt}},
                  .extents = {{.block = 0, .at = 0, .bytes = bytes, .file = 0, .offset = 0}}};
  storage::write_text(path, "");
  ASSERT_TRUE(files.execute(job).ok());
  std::filesystem::rename(path, folder.path("old"));
  storage::write_text(path, "");
  std::ranges::fill(memory, std::byte{'b'});
  ASSERT_TRUE(files.execute(job).ok());  // the step was given up, and begins again
  ASSERT_TRUE(files.execute(Seal{}).ok());
  EXPECT_EQ(storage::text_of(path), std::string(bytes, 'b'));
  EXPECT_EQ(storage::text_of(folder.path("old")), std::string(bytes, 'a'));
}

// Everything that can be named: files, locks, documents below a file, and what lies beside it.
TEST(SessionFiles, StoreNothingOutsideTheirRoot) {
  storage::TestFolder folder;
  const std::string inside = folder.path("root");
  std::filesystem::create_directories(inside + "/store");
  std::filesystem::create_directories(folder.path("out"));
  std::filesystem::create_symlink(folder.path("out"), inside + "/link");
  storage::write_text(inside + "/file", "....");
  storage::write_text(folder.path("out") + "/file", "....");
  const auto root = storage::RootFolder::open(inside);
  ASSERT_TRUE(root) << root.error().text();
  std::vector<std::byte> memory(file_block_bytes, std::byte{'a'});
  SessionFiles files(memory, file_block_bytes, nullptr, &root.value());
  const auto write_to = [&](const std::string& path) {
    const transport::NameFile named{
        .file = 1, .path = path, .bytes_when_made = 4, .known = std::nullopt};
    return files.execute(
        Write{.job = 1,
              .session = 1,
              .files = {named},
              .extents = {{.block = 0, .at = 0, .bytes = 4, .file = 0, .offset = 0}}});
  };
  const auto change = [&](const std::string& path, const storage::HeaderChange& one) {
    Commit job{.job = 1, .session = 1, .step = {}};
    job.step.path = path;
    job.step.update.changes.push_back(one);
    return files.execute(job);
  };
  ASSERT_TRUE(write_to(inside + "/file").ok());
  ASSERT_TRUE(files.execute(Seal{}).ok());
  EXPECT_EQ(storage::text_of(inside + "/file"), "aaaa");
  ASSERT_TRUE(change(inside + "/store", storage::DocumentReplacement{"zarr.json", "{}"}).ok());
  ASSERT_TRUE(files.take_lock(inside + "/file", "p").ok());
  files.release_lock(inside + "/file");
  for (const std::string& outside : {folder.path("out") + "/file", inside + "/link/file",
                                     inside + "/../out/file", inside + "/link/new"}) {
    SCOPED_TRACE(outside);
    for (const Status& refused : {write_to(outside), files.take_lock(outside, "p"),
                                  change(outside, storage::HeaderWrite{0, {std::byte{'b'}}})}) {
      ASSERT_FALSE(refused.ok());
      EXPECT_NE(refused.error().text().find("does not lie below"), std::string::npos);
      EXPECT_EQ(refused.error().text().find('\n'), std::string::npos);
    }
  }
  for (const char* const name : {"../../out/file", "../link/file", "../link/new"}) {
    EXPECT_FALSE(change(inside + "/store", storage::DocumentReplacement{name, "b"}).ok()) << name;
  }
  EXPECT_FALSE(change(inside + "/store", storage::SidecarReplacement{"/../../out/file", "b"}).ok());
  EXPECT_EQ(storage::text_of(folder.path("out") + "/file"), "....");
  EXPECT_FALSE(std::filesystem::exists(folder.path("out") + "/new"));
}

// A new HDF5 file whose chunks are encoded: of two elements each, three if a test makes no more.
class SessionFilesEncode : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { lay_out(); }
  void lay_out() {
    const array::Indices extents{1, std::ssize(values_)};
    const storage::ArrayDescription one{.name = "a",
                                        .shape = array::Shape::create(extents).value(),
                                        .grows = true,
                                        .chunk_extents = array::Indices{1, 2},
                                        .codecs = {storage::Fletcher32Codec{}}};
    auto room = format_->lay_out({.arrays = {one}}, path_);
    ASSERT_TRUE(room.ok()) << room.error().text();
    room_ = std::move(room).value();
    storage::write_text(folder_.path("other"), "a");
  }
  [[nodiscard]] transport::NameFile named(std::uint64_t step) const {
    return {.file = 1,
            .path = path_ + ":a",
            .bytes_when_made = 0,
            .known = std::nullopt,
            .encoded = storage::message_of(room_.map),
            .places = {.step = step, .free_from = room_.free_from}};
  }
  // Writes one half of the elements, which ends within a chunk.
  Status write_half(SessionFiles& files, std::int64_t half, std::uint64_t step) const {
    const std::int64_t bytes = std::ssize(values_) * 4;
    return files.execute(Write{
        .job = 1,
        .session = 1,
        .files = {named(step)},
        .extents = {{.block = half, .at = 0, .bytes = bytes, .file = 0, .offset = half * bytes}}});
  }
  // Writes elements as the stager with this number of two, each of which has regions of a chunk.
  Status write_elements(SessionFiles& files, std::int64_t stager, std::int64_t first,
                        std::int64_t count) const {
    transport::NameFile one = named(4);
    one.places.stagers = 2;
    one.places.own = stager;
    one.places.region_bytes = 24;
    return files.execute(Write{
        .job = 1,
        .session = 1,
        .files = {one},
        .extents = {
            {.block = 0, .at = first * 8, .bytes = count * 8, .file = 0, .offset = first * 8}}});
  }
  static Result<std::vector<transport::EncodedChunks>> seal(SessionFiles& files) {
    return files.execute(
        Seal{.job = 2,
             .session = 1,
             .step = {.seal = 7, .durability = storage::StepDurability::none, .chunk_step = 4}});
  }
  using Others = std::vector<std::shared_ptr<const transport::EncodedChunks>>;
  static Others others(const std::vector<transport::EncodedChunks>& told) {
    Others all;
    for (const auto& one : told) {
      all.push_back(std::make_shared<const transport::EncodedChunks>(one));
    }
    return all;
  }
  Status commit(SessionFiles& files, std::uint64_t step, const Others& told = {}) const {
    Commit job{.job = 2, .session = 1, .step = {}, .others = told};
    job.step.path = path_;
    job.step.durability = storage::StepDurability::none;
    job.step.chunks = {.step = step, .format = "hdf5", .steps = 1};
    job.step.update = room_.update;
    return files.execute(job);
  }
  // A step of another file ends.
  Status commit_other(SessionFiles& files) const {
    Commit job{.job = 3, .session = 1, .step = {}};
    job.step.path = folder_.path("other");
    job.step.update.changes = {storage::HeaderWrite{0, {std::byte{'b'}}}};
    return files.execute(job);
  }
  void expect_values() const {
    const auto now = format_->open(path_);
    ASSERT_TRUE(now.ok()) << now.error().text();
    const storage::StoredArray& one = now.value().arrays.front();
    const array::Section all = array::Section::of(one.map.shape.box());
    const auto layout = array::Layout::packed(all.count, 8, array::Order::row_major).value();
    std::vector<double> found(values_.size());
    storage::DataFileCache cache(storage::DataFileCache::Use::reading);
    const Status read = storage::read_section(
        one, all, std::as_writable_bytes(std::span(found)).data(), layout, cache);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(found, values_);
  }

  // Returns how many descriptors of the file this process has.
  [[nodiscard]] std::ptrdiff_t times_open() const {
    std::ptrdiff_t found = 0;
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;  // that of the iterator itself
      const std::string name = std::filesystem::read_symlink(one.path(), gone).string();
      if (name.starts_with(path_)) ++found;
    }
    return found;
  }
  void make_chunks(std::size_t chunks) {
    values_.assign(2 * chunks, 1.0);
    lay_out();
  }
  [[nodiscard]] std::vector<std::byte> memory() const {
    const auto bytes = std::as_bytes(std::span(values_));
    return {bytes.begin(), bytes.end()};
  }
  [[nodiscard]] std::int64_t half_bytes() const { return std::ssize(values_) * 4; }
  [[nodiscard]] const storage::TestFolder& folder() const { return folder_; }

 private:
  storage::TestFolder folder_;
  std::string path_ = folder_.path("f.h5");
  const storage::Format* format_ = storage::find_format("hdf5").value();
  storage::Room room_;
  std::vector<double> values_ = {1, 2, 3, 4, 5, 6};
};

TEST_P(SessionFilesEncode, ChunksAndEnterThemInTheTableOfTheFile) {
  std::vector<std::byte> blocks = memory();
  SessionFiles files(blocks, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
  for (const std::int64_t half : {0, 1}) {
    const Status written = write_half(files, half, 4);
    ASSERT_TRUE(written.ok()) << written.error().text();
    ASSERT_TRUE(commit_other(files).ok()) << "it leaves the chunks of this step";
  }
  const Status done = commit(files, 4);
  ASSERT_TRUE(done.ok()) << done.error().text();
  expect_values();
}

TEST_P(SessionFilesEncode, NothingThatAnotherStepOfTheFileHasGivenUp) {
  std::vector<std::byte> blocks = memory();
  std::vector<std::byte> wrong(blocks.size(), std::byte{1});
  SessionFiles files(wrong, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
  ASSERT_TRUE(write_half(files, 0, 4).ok());
  ASSERT_TRUE(write_half(files, 1, 4).ok());
  std::ranges::copy(blocks, wrong.begin());
  ASSERT_TRUE(write_half(files, 0, 5).ok());
  ASSERT_TRUE(write_half(files, 1, 5).ok());
  const Status done = commit(files, 5);
  ASSERT_TRUE(done.ok()) << done.error().text();
  expect_values();
}

TEST_P(SessionFilesEncode, WithoutKeepingStepsThatWereGivenUp) {
  std::vector<std::byte> blocks = memory();
  SessionFiles files(blocks, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
  ASSERT_TRUE(write_half(files, 0, 4).ok());
  const auto open = times_open();
  ASSERT_GT(open, 0);
  for (std::uint64_t step = 5; step < 8; ++step) {
    ASSERT_TRUE(write_half(files, 0, step).ok());
    EXPECT_EQ(times_open(), open);
  }
}

TEST_P(SessionFilesEncode, NothingInATableWithoutAStepOrOutsideTheirRoot) {
  std::vector<std::byte> blocks = memory();
  SessionFiles files(blocks, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
  const Status without = write_half(files, 0, 0);
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.error().text().find("within a step"), std::string::npos);
  std::filesystem::create_directories(folder().path("root"));
  const auto root = storage::RootFolder::open(folder().path("root"));
  ASSERT_TRUE(root) << root.error().text();
  SessionFiles below(blocks, half_bytes(), nullptr, &root.value());
  const Status outside = write_half(below, 0, 4);
  ASSERT_FALSE(outside.ok());
  EXPECT_NE(outside.error().text().find("does not lie below"), std::string::npos);
}

TEST_P(SessionFilesEncode, TheirChunksOfAStepThatAnotherStagerPublishes) {
  std::vector<std::byte> blocks = memory();
  SessionFiles home(blocks, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
  SessionFiles joined(blocks, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
  ASSERT_TRUE(write_elements(joined, 1, 4, 2).ok());
  ASSERT_TRUE(write_elements(home, 0, 2, 2).ok());
  // A chunk of which both parts come to the same stager has its last place.
  ASSERT_TRUE(write_elements(joined, 1, 1, 1).ok());
  ASSERT_TRUE(write_elements(joined, 1, 0, 1).ok());
  const auto told = seal(joined);
  ASSERT_TRUE(told.ok()) << told.error().text();
  ASSERT_EQ(told.value().size(), 1U);
  EXPECT_EQ(told.value().front().seal, 7U);
  ASSERT_EQ(told.value().front().chunks.size(), 2U);
  EXPECT_EQ(told.value().front().chunks.front().chunk, 0);
  EXPECT_EQ(told.value().front().chunks.back().chunk, 2);
  const auto again = seal(joined);
  EXPECT_TRUE(again.ok() && again.value().empty()) << "it still has a step that it has sealed";
  const Status done = commit(home, 4, others(told.value()));
  ASSERT_TRUE(done.ok()) << done.error().text();
  expect_values();
}

TEST_P(SessionFilesEncode, ChunksThatAreToldInMessagesOfBoundedLength) {
  constexpr std::size_t most = 1 << 16;
  for (const std::size_t chunks : {most, most + 1}) {
    SCOPED_TRACE(chunks);
    make_chunks(chunks);
    std::vector<std::byte> blocks = memory();
    SessionFiles home(blocks, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
    SessionFiles joined(blocks, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
    ASSERT_TRUE(write_elements(joined, 1, 0, 2 * static_cast<std::int64_t>(chunks)).ok());
    const auto told = seal(joined);
    ASSERT_TRUE(told.ok()) << told.error().text();
    ASSERT_EQ(told.value().size(), chunks == most ? 1U : 2U);
    EXPECT_EQ(told.value().front().chunks.size(), most);
    EXPECT_EQ(told.value().back().chunks.back().chunk, static_cast<std::int64_t>(chunks) - 1);
    const Status done = commit(home, 4, others(told.value()));
    ASSERT_TRUE(done.ok()) << done.error().text();
    expect_values();
  }
}

TEST_P(SessionFilesEncode, NothingOfAStepWhoseChunksOthersTellWrongly) {
  std::vector<std::byte> blocks = memory();
  SessionFiles home(blocks, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
  SessionFiles joined(blocks, half_bytes(), nullptr, nullptr, WritesBy::page_cache, GetParam());
  ASSERT_TRUE(write_elements(home, 0, 0, 2).ok());
  ASSERT_TRUE(write_elements(joined, 1, 1, 1).ok());
  const auto told = seal(joined);
  ASSERT_TRUE(told.ok()) << told.error().text();
  const Status twice = commit(home, 4, others(told.value()));
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().text().find("two stagers have encoded chunk 0"), std::string::npos);
  transport::EncodedChunks wrong = told.value().front();
  const auto is_refused = [&](const std::string& why) {
    const Status refused = commit(home, 4, others({wrong}));
    return !refused.ok() && refused.error().text().find(why) != std::string::npos;
  };
  wrong.chunks.front().chunk = 3;
  EXPECT_TRUE(is_refused("impossible places"));
  wrong.chunks.front() = {.chunk = 1, .place = {.offset = INT64_MAX, .bytes = 1}};
  EXPECT_TRUE(is_refused("impossible places"));
  wrong.encoded = "no array";
  EXPECT_FALSE(commit(home, 4, others({wrong})).ok());
}

// With two, the chunk that comes in two jobs is always encoded by the same one.
INSTANTIATE_TEST_SUITE_P(Encoders, SessionFilesEncode, testing::Values(1, 2, 4));

}  // namespace
}  // namespace weir::stager
