// The protocol of requests: submit, poll and wait, on every engine.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "common/clock.hpp"
#include "engines/engine.hpp"
#include "engines/test_engines.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

std::int64_t soon() { return monotonic_ns() + 30'000'000'000; }  // a deadline, not a duration

std::vector<std::byte> pattern(std::int64_t bytes, unsigned salt) {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  unsigned state = salt * 2654435761U + 1;
  for (std::byte& byte : data) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24U);
  }
  return data;
}

// Engines that split requests into many parts, so that parts wait for each other and for slots.
constexpr std::int64_t tiny_call = 1000;
std::unique_ptr<Engine> make_tiny_uring() {
  auto engine = make_uring_engine({.in_flight = 3, .bytes_per_call = tiny_call});
  return engine ? std::move(engine).value() : nullptr;
}
std::unique_ptr<Engine> make_chained_uring() {
  auto engine = make_uring_engine({.in_flight = 4096, .bytes_per_call = tiny_call});
  return engine ? std::move(engine).value() : nullptr;
}

std::vector<TestedEngine> all_engines() {
  std::vector<TestedEngine> engines = tested_engines();
  engines.push_back({"null", make_null_engine});
  engines.push_back(
      {"thread_tiny", [] { return make_thread_engine({.bytes_per_call = tiny_call}); }});
  engines.push_back({"io_uring_tiny", make_tiny_uring});
  engines.push_back({"io_uring_chained", make_chained_uring});
  return engines;
}

class EngineRequests : public testing::TestWithParam<TestedEngine> {
 protected:
  void SetUp() override {
    engine_ = GetParam().make();
    if (engine_ == nullptr) GTEST_SKIP() << "no io_uring here";
    keeps_ = engine_->abilities().keeps_bytes;
    // A write beyond the file size limit is to fail, not to end the program.
    before_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  void TearDown() override {
    if (before_ != nullptr) (void)std::signal(SIGXFSZ, before_);
  }

  // Opens a file, of `bytes` if it is new.
  [[nodiscard]] std::unique_ptr<EngineFile> file(std::int64_t bytes = 100'000) const {
    auto opened = engine_->open(path_, {.write = true, .bytes_when_made = bytes});
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  // Opens a file that exists, or skips the test where the engine cannot.
  [[nodiscard]] std::unique_ptr<EngineFile> existing(const std::string& path, bool write) const {
    auto opened = engine_->open(path, {.write = write});
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  // Makes system calls itself, so that it reports what the system says.
  [[nodiscard]] bool is_systems() const {
    return engine_->abilities().in_file_system && engine_->abilities().tells_errno;
  }

  Status run(EngineRequest& request) const {
    if (Status begun = engine_->submit(request); !begun.ok()) return begun;
    return engine_->wait(request, soon());
  }
  Status run(Direction direction, EngineFile& file, std::vector<std::byte>& data,
             std::int64_t offset, Durability durability = Durability::none) const {
    PieceRequest request;
    request.set(direction, file, offset, data.data(), static_cast<std::int64_t>(data.size()),
                durability);
    return run(request);
  }
  [[nodiscard]] std::vector<std::byte> contents(EngineFile& file, std::int64_t bytes) const {
    std::vector<std::byte> data(static_cast<std::size_t>(bytes));
    const Status read = run(Direction::read, file, data, 0);
    EXPECT_TRUE(read.ok()) << read.error().text();
    return data;
  }

  static void expect_failure(const Status& status, int system_error, const std::string& operation,
                             const std::string& path, std::int64_t offset) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::io) << status.error().text();
    EXPECT_EQ(status.error().system_error, system_error) << status.error().text();
    EXPECT_EQ(status.error().operation, operation);
    EXPECT_EQ(status.error().file, path);
    EXPECT_EQ(status.error().offset, offset);
  }

  TestFolder folder_;
  std::string path_ = folder_.path("data");
  std::unique_ptr<Engine> engine_;
  bool keeps_ = true;

 private:
  void (*before_)(int) = nullptr;
};

TEST_P(EngineRequests, MoveTheSameBytesWhateverTheSplit) {
  const std::vector<std::int64_t> sizes = {1, 7, 999, 1000, 1001, 4096, 5005, 30'999, 75'000};
  const auto opened = file();
  std::vector<std::byte> expected = pattern(100'000, 1);
  ASSERT_TRUE(run(Direction::write, *opened, expected, 0).ok());
  for (const std::int64_t size : sizes) {
    for (const Durability durability : {Durability::none, Durability::data, Durability::full}) {
      for (const bool in_background : {false, true}) {
        SCOPED_TRACE(testing::Message() << size << " bytes, background " << in_background);
        std::vector<std::byte> data = pattern(size, static_cast<unsigned>(size) + in_background);
        const std::int64_t offset = 13 + static_cast<int>(durability) * 4083;
        std::copy(data.begin(), data.end(), expected.begin() + offset);
        PieceRequest request;
        request.in_background = in_background;
        request.set(Direction::write, *opened, offset, data.data(), size, durability);
        const std::int64_t before = monotonic_ns();
        const Status written = run(request);
        ASSERT_TRUE(written.ok()) << written.error().text();
        EXPECT_EQ(request.traffic.moved, size);
        EXPECT_LE(before, request.times.submitted_ns);
        EXPECT_LE(request.times.submitted_ns, request.times.moved_ns);
        EXPECT_LE(request.times.moved_ns, request.times.durable_ns);
        EXPECT_LE(request.times.durable_ns, monotonic_ns());
        if (durability == Durability::none) {
          EXPECT_EQ(request.times.moved_ns, request.times.durable_ns);
        }
        EXPECT_TRUE(!keeps_ || contents(*opened, 100'000) == expected);
      }
    }
  }
}

// The null device takes every write and refuses every sync: what it refuses shows what was asked.
TEST_P(EngineRequests, AskForTheSyncThatTheyName) {
  if (!is_systems()) GTEST_SKIP() << "the engine does not report the system's errors";
  const auto null = existing("/dev/null", true);
  ASSERT_NE(null, nullptr);
  for (const bool in_background : {false, true}) {
    for (const std::int64_t size : {500, 40'000}) {
      std::vector<std::byte> data = pattern(size, 3);
      PieceRequest request;
      request.in_background = in_background;
      for (const Durability durability : {Durability::none, Durability::data, Durability::full}) {
        request.set(Direction::write, *null, 0, data.data(), size, durability);
        const Status status = run(request);
        EXPECT_EQ(request.traffic.written, size);
        if (durability == Durability::none) {
          EXPECT_TRUE(status.ok());
        } else {
          expect_failure(status, EINVAL, durability == Durability::data ? "fdatasync" : "fsync",
                         "/dev/null", -1);
        }
      }
    }
  }
  EngineFile* const one = null.get();
  expect_failure(engine_->sync({&one, 1}), EINVAL, "fdatasync", "/dev/null", -1);
}

TEST_P(EngineRequests, MakeFilesDurableWithoutMovingBytes) {
  const auto opened = file();
  const FileRange whole{opened.get(), 0, {}};
  EngineRequest request(Direction::write, {&whole, 1}, Durability::full);
  for (const bool in_background : {false, true}) {
    request.in_background = in_background;
    ASSERT_TRUE(run(request).ok());
    EXPECT_EQ(request.traffic.moved, 0);
  }
  request.durability = Durability::none;
  EXPECT_EQ(engine_->submit(request).error().code, ErrorCode::invalid_argument);
}

TEST_P(EngineRequests, EndWithTheOffsetWhereTheFileEnds) {
  if (!keeps_) GTEST_SKIP() << "no file ends";
  std::vector<std::byte> data = pattern(2500, 4);
  const auto opened = file(2500);
  ASSERT_TRUE(run(Direction::write, *opened, data, 0).ok());
  struct Case {
    std::int64_t offset, bytes;
  };
  for (const Case& one : {Case{0, 4000}, Case{1500, 1001}, Case{2500, 10}, Case{0, 70'000}}) {
    for (const bool in_background : {false, true}) {
      std::vector<std::byte> buffer(static_cast<std::size_t>(one.bytes));
      PieceRequest request;
      request.in_background = in_background;
      request.set(Direction::read, *opened, one.offset, buffer.data(), one.bytes);
      const Status status = run(request);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::short_transfer) << status.error().text();
      EXPECT_EQ(status.error().operation, "read");
      EXPECT_EQ(status.error().file, path_);
      EXPECT_EQ(status.error().offset, 2500);
    }
  }
}

TEST_P(EngineRequests, NameWhatTheSystemRefuses) {
  if (!is_systems()) GTEST_SKIP() << "the engine does not report the system's errors";
  std::vector<std::byte> data = pattern(5000, 5);
  const auto full = existing("/dev/full", true);
  ASSERT_NE(full, nullptr);
  expect_failure(run(Direction::write, *full, data, 0, Durability::data), ENOSPC, "write",
                 "/dev/full", 0);
  (void)file();
  const auto read_only = existing(path_, false);
  ASSERT_NE(read_only, nullptr);
  expect_failure(run(Direction::write, *read_only, data, 50, Durability::full), EBADF, "write",
                 path_, 50);
  const auto opened = existing(folder_.folder().string(), false);
  ASSERT_NE(opened, nullptr);
  expect_failure(run(Direction::read, *opened, data, 0), EISDIR, "read", folder_.folder().string(),
                 0);
  // The engine goes on after failures.
  const auto good = file();
  EXPECT_TRUE(run(Direction::write, *good, data, 0, Durability::data).ok());
}

// Where the space ends within a part: what fitted is there, and the error tells where it stopped.
TEST_P(EngineRequests, EndWhereTheSpaceOfTheFileSystemEnds) {
  if (!is_systems()) GTEST_SKIP() << "the engine does not report the system's errors";
  constexpr std::int64_t space = 64 << 10;
  const std::string folder = folder_.path("small");
  std::filesystem::create_directory(folder);
  if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "mounting a small file system: " << std::generic_category().message(errno);
  }
  auto opened = engine_->open(folder + "/data", {.write = true, .create = true});
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  std::vector<std::byte> data = pattern(space + 4321, 6);
  const Status status = run(Direction::write, *opened.value(), data, 0, Durability::data);
  EXPECT_EQ(std::filesystem::file_size(folder + "/data"), space);
  // Detached, as io_uring lets go of its files a little later than they are closed.
  ASSERT_EQ(::umount2(folder.c_str(), MNT_DETACH), 0);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().system_error, ENOSPC) << status.error().text();
  EXPECT_EQ(status.error().file, folder + "/data");
  EXPECT_GE(status.error().offset, 0);
  EXPECT_LE(status.error().offset, space);
}

TEST_P(EngineRequests, AreRefusedIfTheyCannotBe) {
  const auto opened = file();
  std::vector<std::byte> data = pattern(10, 10);
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  struct Case {
    Direction direction;
    std::byte* memory;
    std::int64_t bytes, offset;
    Durability durability;
  };
  for (const Case& one : {Case{Direction::write, nullptr, 10, 0, Durability::none},
                          Case{Direction::write, data.data(), 0, 0, Durability::none},
                          Case{Direction::read, data.data(), -1, 0, Durability::none},
                          Case{Direction::read, data.data(), 10, -1, Durability::none},
                          Case{Direction::write, data.data(), 10, largest - 9, Durability::none},
                          Case{Direction::read, data.data(), 10, 0, Durability::data}}) {
    PieceRequest request;
    request.set(one.direction, *opened, one.offset, one.memory, one.bytes, one.durability);
    const Status status = engine_->submit(request);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument) << status.error().text();
    EXPECT_EQ(status.error().file, path_);
    EXPECT_FALSE(request.in_flight());
  }
  EngineRequest nothing;
  EXPECT_EQ(engine_->submit(nothing).error().code, ErrorCode::invalid_argument);
  const FileRange no_file;
  EngineRequest none(Direction::read, {&no_file, 1}, Durability::none);
  EXPECT_EQ(engine_->submit(none).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(engine_->in_flight(), 0);
  EXPECT_EQ(engine_->poll(), nullptr);
}

TEST_P(EngineRequests, AreReturnedOnce) {
  const auto opened = file();
  std::vector<std::byte> data = pattern(2000, 11);
  PieceRequest request;
  request.set(Direction::write, *opened, 0, data.data(), 2000);
  EXPECT_TRUE(engine_->poll(request));  // was never submitted
  EXPECT_EQ(engine_->wait(soon()).error().code, ErrorCode::invalid_argument);

  ASSERT_TRUE(engine_->submit(request).ok());
  EXPECT_TRUE(request.in_flight());
  EXPECT_EQ(engine_->in_flight(), 1);
  EXPECT_EQ(engine_->submit(request).error().code, ErrorCode::invalid_argument);
  const auto ended = engine_->wait(soon());
  ASSERT_TRUE(ended.ok()) << ended.error().text();
  EXPECT_EQ(ended.value(), &request);
  EXPECT_FALSE(request.in_flight());
  EXPECT_EQ(engine_->poll(), nullptr);
  EXPECT_TRUE(engine_->wait(request, 0).ok());
  EXPECT_EQ(engine_->in_flight(), 0);
}

TEST_P(EngineRequests, EndByPollingAlone) {
  const auto opened = file();
  std::vector<std::byte> data = pattern(40'000, 12);
  PieceRequest request;
  for (const bool in_background : {false, true}) {
    request.in_background = in_background;
    request.set(Direction::write, *opened, 0, data.data(), 40'000, Durability::data);
    ASSERT_TRUE(engine_->submit(request).ok());
    const std::int64_t deadline = soon();
    EngineRequest* ended = nullptr;
    while (ended == nullptr && monotonic_ns() < deadline) ended = engine_->poll();
    ASSERT_EQ(ended, &request);
    EXPECT_TRUE(request.status.ok()) << request.status.error().text();
  }
}

// Many more than the engine has in flight at the same time, of which every seventh fails.
TEST_P(EngineRequests, HaveEachTheirOwnResult) {
  constexpr std::int64_t piece = 2500;
  constexpr std::int64_t count = 200;
  const auto opened = file(count * piece);
  std::vector<std::byte> data = pattern(count * piece, 14);
  ASSERT_TRUE(run(Direction::write, *opened, data, 0).ok());
  std::vector<std::byte> seen(data.size());
  for (const bool in_background : {false, true}) {
    std::fill(seen.begin(), seen.end(), std::byte{});
    std::vector<PieceRequest> requests(count);
    std::set<const EngineRequest*> begun;
    for (std::int64_t i = 0; i < count; ++i) {
      PieceRequest& one = requests[static_cast<std::size_t>(i)];
      const std::int64_t at = i * 7 % count * piece;
      const std::int64_t beyond = keeps_ && i % 7 == 0 ? count * piece : 0;
      one.in_background = in_background;
      one.set(Direction::read, *opened, at + beyond, seen.data() + at, piece);
      ASSERT_TRUE(engine_->submit(one).ok());
      begun.insert(&one);
    }
    EXPECT_EQ(engine_->in_flight(), count);
    // A blocking call meanwhile ends by itself alone.
    std::vector<std::byte> first(10);
    const Slice slice{first.data(), 10};
    const FileRange range{opened.get(), 0, {&slice, 1}};
    FileTraffic traffic;
    EXPECT_TRUE(engine_->read({&range, 1}, traffic).ok());
    EXPECT_EQ(traffic.read, 10);
    while (!begun.empty()) {
      const auto ended = engine_->wait(soon());
      ASSERT_TRUE(ended.ok()) << ended.error().text();
      EXPECT_EQ(begun.erase(ended.value()), 1U);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const PieceRequest& one = requests[static_cast<std::size_t>(i)];
      const std::int64_t at = i * 7 % count * piece;
      EXPECT_EQ(one.status.ok(), !keeps_ || i % 7 != 0);
      if (one.status.ok() && keeps_) {
        EXPECT_TRUE(std::equal(seen.begin() + at, seen.begin() + at + piece, data.begin() + at));
      }
      EXPECT_EQ(one.traffic.read, one.status.ok() ? piece : 0);
    }
  }
}

TEST_P(EngineRequests, MoveRangesOfSeveralFiles) {
  const auto first = file(10'000);
  path_ = folder_.path("second");
  const auto second = file(10'000);
  std::vector<std::byte> data = pattern(9000, 15);
  std::vector<std::byte> seen(9000);
  for (const bool in_background : {false, true}) {
    const std::vector<Slice> slices = {{data.data(), 3000}, {data.data() + 3000, 1}};
    const Slice rest{data.data() + 3001, 5999};
    const std::vector<FileRange> ranges = {{first.get(), 100, slices},
                                           {second.get(), 0, {&rest, 1}}};
    EngineRequest write(Direction::write, ranges, Durability::data);
    write.in_background = in_background;
    const Status written = run(write);
    ASSERT_TRUE(written.ok()) << written.error().text();
    EXPECT_EQ(write.traffic.written, 9000);
    const Slice into{seen.data(), 3001};
    const Slice after{seen.data() + 3001, 5999};
    const std::vector<FileRange> back = {{first.get(), 100, {&into, 1}},
                                         {second.get(), 0, {&after, 1}}};
    EngineRequest read(Direction::read, back, Durability::none);
    ASSERT_TRUE(run(read).ok());
    EXPECT_TRUE(!keeps_ || seen == data);
  }
}

TEST_P(EngineRequests, ExplainWhatDirectIoNeedsAndMeetTheEnd) {
  constexpr std::int64_t block = 4096;
  (void)file(5 * block);
  auto direct = engine_->open(path_, {.write = true, .direct = true});
  if (!direct.ok() || !is_systems()) GTEST_SKIP() << "no direct I/O here";
  const std::unique_ptr<std::byte, decltype(&std::free)> buffer(
      static_cast<std::byte*>(std::aligned_alloc(block, 5 * block)), &std::free);
  std::memset(buffer.get(), 3, 5 * block);
  PieceRequest request;
  request.set(Direction::write, *direct.value(), 0, buffer.get(), 5 * block, Durability::data);
  if (GetParam().name.find("tiny") == std::string::npos &&
      GetParam().name.find("chained") == std::string::npos) {
    ASSERT_TRUE(run(request).ok());
    std::filesystem::resize_file(path_, 3 * block + 100);
    request.set(Direction::read, *direct.value(), 0, buffer.get(), 5 * block);
    const Status read = run(request);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::short_transfer) << read.error().text();
    EXPECT_EQ(read.error().offset, 3 * block + 100);
  }
  request.set(Direction::write, *direct.value(), 3, buffer.get(), 8);
  const Status unaligned = run(request);
  if (unaligned.ok()) GTEST_SKIP() << "the engine or the file system needs no alignment";
  EXPECT_NE(unaligned.error().text().find("O_DIRECT"), std::string::npos);
  EXPECT_NE(unaligned.error().text().find(path_), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineRequests, testing::ValuesIn(all_engines()),
                         [](const auto& one) { return one.param.name; });

TEST(UringEngine, HasFrom1To4096PartsInFlight) {
  if (make_uring_engine().ok()) {
    EXPECT_TRUE(make_uring_engine({.in_flight = 1}).ok());
    EXPECT_TRUE(make_uring_engine({.in_flight = 4096}).ok());
  } else {
    EXPECT_EQ(make_uring_engine().error().code, ErrorCode::unsupported);
  }
  for (const unsigned wrong : {0U, 4097U}) {
    const auto refused = make_uring_engine({.in_flight = wrong});
    ASSERT_FALSE(refused.ok());
  }
}

TEST(BackgroundEngine, PrefersIoUringWhereItIsToBeHad) {
  EXPECT_EQ(make_background_engine()->name(), make_uring_engine().ok() ? "io_uring" : "thread");
}

}  // namespace
}  // namespace weir::storage
