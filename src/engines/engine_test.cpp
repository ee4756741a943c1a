// What every engine does alike, each by its declared abilities.
#include "engines/engine.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "engines/test_engines.hpp"
#include "engines/test_faulty_engine.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t file_bytes = 3 << 20;

std::vector<std::byte> bytes_of(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
  return bytes;
}

// Memory at an address of any alignment.
struct Memory {
  explicit Memory(std::int64_t bytes)
      : all(static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<std::size_t>(bytes)))) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { std::free(all); }
  std::byte* all;
};

class EveryEngine : public testing::TestWithParam<TestedEngine> {
 protected:
  void SetUp() override {
    engine_ = GetParam().make();
    if (engine_ == nullptr) GTEST_SKIP() << "no io_uring here";
  }
  [[nodiscard]] Engine& engine() const { return *engine_; }
  [[nodiscard]] std::string path(const char* name = "file") const { return folder_.path(name); }
  [[nodiscard]] std::unique_ptr<EngineFile> made(const char* name = "file",
                                                 std::int64_t bytes = file_bytes) const {
    auto file = engine_->open(path(name), {.write = true, .bytes_when_made = bytes});
    EXPECT_TRUE(file.ok()) << file.error().text();
    return file.ok() ? std::move(file).value() : nullptr;
  }
  Status write(EngineFile& file, std::byte* data, std::int64_t bytes, std::int64_t offset) {
    const Slice slice{data, bytes};
    const FileRange range{&file, offset, {&slice, 1}};
    return engine_->write({&range, 1}, traffic_);
  }
  Status read(EngineFile& file, std::byte* data, std::int64_t bytes, std::int64_t offset) {
    const Slice slice{data, bytes};
    const FileRange range{&file, offset, {&slice, 1}};
    return engine_->read({&range, 1}, traffic_);
  }

  TestFolder folder_;
  std::unique_ptr<Engine> engine_;
  FileTraffic traffic_;
};

// Ranges of any length and alignment, in several slices, many in one call, none on another.
TEST_P(EveryEngine, MovesManyRangesAtOnce) {
  std::mt19937_64 random(7);
  const Memory memory(file_bytes);
  const Memory read_back(file_bytes);
  for (const bool expected : {false, true}) {
    const std::span<std::byte> area(memory.all, file_bytes);
    if (expected) engine().expect_memory({&area, 1});
    for (const std::int64_t typical : {50, 5000, 200'000, 1 << 20}) {
      const auto file = made();
      const auto content = bytes_of(file_bytes, static_cast<std::uint64_t>(typical));
      std::memcpy(memory.all, content.data(), content.size());
      std::memset(read_back.all, 0, file_bytes);
      std::vector<std::vector<Slice>> slices;
      std::vector<std::int64_t> offsets;
      std::int64_t total = 0;
      for (std::int64_t at = 0; at < file_bytes && slices.size() < 300;) {
        offsets.push_back(at);
        slices.emplace_back();
        const auto pieces = static_cast<std::int64_t>(1 + random() % 3);
        for (std::int64_t i = 0; i < pieces && at < file_bytes; ++i) {
          auto bytes =
              static_cast<std::int64_t>(1 + random() % static_cast<std::uint64_t>(2 * typical));
          if (random() % 2 == 0) bytes = (bytes + 4095) / 4096 * 4096;
          bytes = std::min(bytes, file_bytes - at);
          slices.back().push_back({memory.all + at, bytes});
          at += bytes;
          total += bytes;
        }
        at += static_cast<std::int64_t>(random() % 5) * typical;
      }
      std::vector<FileRange> ranges;
      ranges.reserve(slices.size());
      for (std::size_t i = 0; i < slices.size(); ++i) {
        ranges.push_back({file.get(), offsets[i], slices[i]});
      }
      std::ranges::shuffle(ranges, random);
      traffic_ = {};
      Status moved = engine().write(ranges, traffic_);
      ASSERT_TRUE(moved.ok()) << moved.error().text();
      EXPECT_EQ(traffic_.written, total);
      EXPECT_GE(traffic_.calls, 1);
      EngineFile* const one = file.get();
      ASSERT_TRUE(engine().sync({&one, 1}).ok());
      for (auto& list : slices) {
        for (Slice& slice : list) slice.data = read_back.all + (slice.data - memory.all);
      }
      moved = engine().read(ranges, traffic_);
      ASSERT_TRUE(moved.ok()) << moved.error().text();
      EXPECT_EQ(traffic_.read, total);
      for (const auto& list : slices) {
        for (const Slice& slice : list) {
          ASSERT_EQ(std::memcmp(slice.data, content.data() + (slice.data - read_back.all),
                                static_cast<std::size_t>(slice.bytes)),
                    0);
        }
      }
      ASSERT_TRUE(file->close().ok());
    }
  }
}

// An engine that moves bytes by system calls lets its caller do something else between those of
// long ranges, and moves the same bytes.
TEST_P(EveryEngine, CallsItsCallerBetweenPartsOfLongRanges) {
  const Memory memory(file_bytes);
  const Memory read_back(file_bytes);
  const auto content = bytes_of(file_bytes, 3);
  std::memcpy(memory.all, content.data(), content.size());
  const auto file = made();
  ASSERT_NE(file, nullptr);
  const bool by_system_calls = engine().abilities().in_file_system && engine().name() != "mpi-io";
  std::int64_t calls = 0;
  for (const bool is_called : {true, false}) {
    engine().call_between_parts(is_called ? [&calls] { ++calls; } : std::function<void()>());
    for (const std::int64_t bytes :
         {most_bytes_between_calls, most_bytes_between_calls + 1, file_bytes}) {
      // Two slices, of which the first one ends inside a part.
      for (const bool writing : {true, false}) {
        std::byte* const start = writing ? memory.all : read_back.all;
        const std::vector<Slice> slices = {{start, 5000}, {start + 5000, bytes - 5000}};
        const FileRange range{file.get(), 0, slices};
        calls = 0;
        traffic_ = {};
        const Status moved =
            writing ? engine().write({&range, 1}, traffic_) : engine().read({&range, 1}, traffic_);
        ASSERT_TRUE(moved.ok()) << moved.error().text();
        EXPECT_EQ(traffic_.moved, bytes);
        const bool in_turn = !engine().abilities().several_at_once;
        const std::int64_t parts = bytes / most_bytes_between_calls;
        EXPECT_GE(calls, is_called && by_system_calls ? (in_turn ? parts : 1) : 0);
        EXPECT_TRUE(is_called || calls == 0);
      }
      EXPECT_EQ(std::memcmp(read_back.all, content.data(), static_cast<std::size_t>(bytes)), 0);
      std::memset(read_back.all, 0, file_bytes);
    }
  }
}

// Overwriting a part leaves the rest; what one descriptor cached the other one sees.
TEST_P(EveryEngine, ChangesNothingAround) {
  const auto file = made();
  auto content = bytes_of(file_bytes, 1);
  ASSERT_TRUE(write(*file, content.data(), file_bytes, 0).ok());
  std::mt19937_64 random(3);
  for (int i = 0; i < 40; ++i) {
    const auto offset = static_cast<std::int64_t>(random() % (file_bytes - 1));
    const auto bytes = std::min<std::int64_t>(1 + static_cast<std::int64_t>(random() % 400'000),
                                              file_bytes - offset);
    auto part = bytes_of(bytes, random());
    ASSERT_TRUE(write(*file, part.data(), bytes, offset).ok());
    std::ranges::copy(part, content.begin() + offset);
    const auto from = static_cast<std::int64_t>(random() % (file_bytes - 1));
    std::vector<std::byte> seen(static_cast<std::size_t>(file_bytes - from));
    ASSERT_TRUE(read(*file, seen.data(), file_bytes - from, from).ok());
    ASSERT_EQ(std::memcmp(seen.data(), content.data() + from, seen.size()), 0) << i;
  }
  if (!engine().abilities().in_file_system) return;
  std::ifstream plain(path(), std::ios::binary);
  std::vector<char> seen(file_bytes);
  plain.read(seen.data(), file_bytes);
  EXPECT_EQ(std::memcmp(seen.data(), content.data(), file_bytes), 0);
}

TEST_P(EveryEngine, SeesWhatAnotherOneWroteAndIsSeen) {
  if (!engine().abilities().in_file_system) GTEST_SKIP() << "no file in the file system";
  const auto other = make_posix_engine();
  const auto mine = made();
  const auto others = other->open(path(), {.write = true}).value();
  auto content = bytes_of(file_bytes, 5);
  ASSERT_TRUE(write(*mine, content.data(), file_bytes, 0).ok());
  std::mt19937_64 random(11);
  std::vector<std::byte> seen(file_bytes);
  for (int i = 0; i < 30; ++i) {
    const auto offset = static_cast<std::int64_t>(random() % (file_bytes - 300'000));
    const auto bytes = static_cast<std::int64_t>(1 + random() % 300'000);
    auto part = bytes_of(bytes, random());
    std::ranges::copy(part, content.begin() + offset);
    const Slice slice{part.data(), bytes};
    const FileRange range{i % 2 == 0 ? mine.get() : others.get(), offset, {&slice, 1}};
    ASSERT_TRUE((i % 2 == 0 ? engine() : *other).write({&range, 1}, traffic_).ok());
    // By the one that did not write.
    const Slice into{seen.data(), file_bytes};
    const FileRange whole{i % 2 == 1 ? mine.get() : others.get(), 0, {&into, 1}};
    ASSERT_TRUE((i % 2 == 1 ? engine() : *other).read({&whole, 1}, traffic_).ok());
    ASSERT_EQ(std::memcmp(seen.data(), content.data(), seen.size()), 0) << i;
  }
}

// Short ranges of pages that are only on storage, where parts of them are changed or read.
TEST_P(EveryEngine, ReadsAndChangesWhatIsNotInMemory) {
  const auto file = made();
  auto content = bytes_of(file_bytes, 13);
  ASSERT_TRUE(write(*file, content.data(), file_bytes, 0).ok());
  const auto drop_pages = [&] {
    EngineFile* const one = file.get();
    ASSERT_TRUE(engine().sync({&one, 1}).ok());
    if (!engine().abilities().in_file_system) return;
    const int descriptor = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED), 0);
    ::close(descriptor);
  };
  std::vector<std::byte> changed(content);
  for (const std::int64_t bytes : {std::int64_t{3}, std::int64_t{4096}, std::int64_t{23'041}}) {
    std::vector<Slice> slices;
    std::vector<FileRange> ranges;
    slices.reserve(1000);
    ranges.reserve(1000);
    auto part = bytes_of(bytes, static_cast<std::uint64_t>(bytes));
    for (std::int64_t at = 5; at + bytes < file_bytes; at += 3 * bytes + 4096) {
      slices.push_back({part.data(), bytes});
      ranges.push_back({file.get(), at, {&slices.back(), 1}});
      std::ranges::copy(part, content.begin() + at);
    }
    drop_pages();
    ASSERT_TRUE(engine().write(ranges, traffic_).ok());
    drop_pages();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      slices[i].data = changed.data() + ranges[i].offset;
    }
    ASSERT_TRUE(engine().read(ranges, traffic_).ok());
    ASSERT_EQ(changed, content);
    ASSERT_TRUE(read(*file, changed.data(), file_bytes, 0).ok());
    ASSERT_EQ(changed, content);
  }
}

TEST_P(EveryEngine, MakesFilesAndTellsOfMissingOnes) {
  const auto missing = engine().open(path("none"), {.write = true});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().system_error, ENOENT);
  EXPECT_EQ(missing.error().file, path("none"));
  EXPECT_FALSE(engine().open(path("none"), {.bytes_when_made = 5}).ok());
  const auto file = made("a/b/c", 1000);
  const auto again = made("a/b/c", 1000);
  auto bytes = bytes_of(1000, 1);
  ASSERT_TRUE(write(*file, bytes.data(), 1000, 0).ok());
  const auto third = made("a/b/c", 1000);
  std::vector<std::byte> seen(1000);
  ASSERT_TRUE(read(*third, seen.data(), 1000, 0).ok());
  EXPECT_EQ(seen, bytes);
  EXPECT_TRUE(again->changed_folders().empty());
  if (!engine().abilities().in_file_system) return;
  EXPECT_EQ(std::filesystem::file_size(path("a/b/c")), 1000U);
  std::vector<std::string> changed = file->changed_folders();
  std::ranges::sort(changed);
  EXPECT_EQ(changed, (std::vector<std::string>{folder_.folder().string(), path("a"), path("a/b")}));
}

TEST_P(EveryEngine, TellsWhereAFileEnds) {
  for (const std::int64_t bytes : {std::int64_t{1000}, std::int64_t{200'000}}) {
    const auto file = made(bytes == 1000 ? "short" : "long", bytes);
    std::vector<std::byte> data(static_cast<std::size_t>(file_bytes));
    ASSERT_TRUE(read(*file, data.data(), bytes, 0).ok());
    const Status early = read(*file, data.data(), file_bytes, 100);
    ASSERT_FALSE(early.ok());
    EXPECT_EQ(early.error().code, ErrorCode::short_transfer);
    EXPECT_EQ(early.error().file, file->path());
    EXPECT_EQ(early.error().offset, bytes);
    EXPECT_FALSE(read(*file, data.data(), 10, bytes + 5000).ok());
  }
}

// A file size limit stands for storage that is full: the write that meets it stops in its middle.
TEST_P(EveryEngine, TellsWhereAWriteFailed) {
  if (!engine().abilities().in_file_system) GTEST_SKIP() << "no file in the file system";
  const auto file = made("file", 100'000);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{1'000'000, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto data = bytes_of(file_bytes, 4);
  std::vector<Slice> slices;
  std::vector<FileRange> ranges;
  slices.reserve(3);
  for (const std::int64_t offset : {0, 900'000, 2'000'000}) {
    slices.push_back({data.data() + offset, 200'000});
    ranges.push_back({file.get(), offset, {&slices.back(), 1}});
  }
  const Status failed = engine().write(ranges, traffic_);
  // The engine goes on as before.
  const Status good = write(*file, data.data(), 300'000, 0);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  (void)std::signal(SIGXFSZ, previous);
  ASSERT_FALSE(failed.ok());
  if (engine().abilities().tells_errno) {
    EXPECT_EQ(failed.error().system_error, EFBIG) << failed.error().text();
  }
  EXPECT_EQ(failed.error().file, path());
  EXPECT_GE(failed.error().offset, 900'000);
  EXPECT_TRUE(good.ok());
  std::vector<std::byte> seen(300'000);
  ASSERT_TRUE(read(*file, seen.data(), 300'000, 0).ok());
  EXPECT_TRUE(std::equal(seen.begin(), seen.end(), data.begin()));
}

TEST_P(EveryEngine, HasManyFilesOpen) {
  std::vector<std::unique_ptr<EngineFile>> files;
  std::vector<EngineFile*> all;
  auto data = bytes_of(300, 9);
  std::vector<Slice> slices;
  std::vector<FileRange> ranges;
  files.reserve(300);
  all.reserve(300);
  slices.reserve(300);
  ranges.reserve(300);
  for (int i = 0; i < 300; ++i) {
    files.push_back(made(("f" + std::to_string(i)).c_str(), 10));
    all.push_back(files.back().get());
    slices.push_back({data.data() + i, 1});
    ranges.push_back({all.back(), 5, {&slices.back(), 1}});
  }
  ASSERT_TRUE(engine().write(ranges, traffic_).ok());
  ASSERT_TRUE(engine().sync(std::span(all).first(70)).ok());
  // Numbers of closed files are given to others.
  for (std::size_t i = 0; i < 300; i += 2) ASSERT_TRUE(files[i]->close().ok());
  for (std::size_t i = 0; i < 300; i += 2) {
    files[i] = made(("f" + std::to_string(i)).c_str(), 10);
    ranges[i].file = files[i].get();
  }
  std::vector<std::byte> seen(300);
  for (std::size_t i = 0; i < 300; ++i) slices[i].data = &seen[i];
  ASSERT_TRUE(engine().read(ranges, traffic_).ok());
  EXPECT_EQ(seen, data);
}

INSTANTIATE_TEST_SUITE_P(Engines, EveryEngine, testing::ValuesIn(tested_engines()),
                         [](const auto& one) { return one.param.name; });

TEST(FaultyEngine, FailsFromTheNthRangeOn) {
  const TestFolder folder;
  for (const char* operation : {"write", "read"}) {
    const bool writing = std::string(operation) == "write";
    const auto engine =
        make_faulty_engine(make_memory_engine(),
                           {.operation = writing ? Fault::Operation::write : Fault::Operation::read,
                            .number = 3,
                            .system_error = ENOSPC,
                            .moved = 7});
    const auto file =
        engine->open(folder.path("a"), {.write = true, .bytes_when_made = 100}).value();
    auto data = bytes_of(40, 1);
    const std::vector<Slice> slices = {{data.data(), 5}, {data.data() + 5, 5}};
    std::vector<FileRange> ranges;
    for (const int offset : {0, 10, 20, 30}) ranges.push_back({file.get(), offset, slices});
    FileTraffic traffic;
    const Status failed = writing ? engine->write(ranges, traffic) : engine->read(ranges, traffic);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().system_error, ENOSPC);
    EXPECT_EQ(failed.error().offset, 27);
    EXPECT_EQ(writing ? traffic.written : traffic.read, 27);
  }
  const auto engine = make_faulty_engine(
      make_memory_engine(), {.operation = Fault::Operation::sync, .system_error = EIO});
  const auto file = engine->open(folder.path("a"), {.write = true, .bytes_when_made = 100}).value();
  EngineFile* const one = file.get();
  EXPECT_FALSE(engine->sync({&one, 1}).ok());
}

}  // namespace
}  // namespace weir::storage
