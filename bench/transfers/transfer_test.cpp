// One body of tests over every engine: the same bytes on disk, the same errors.
#include "transfers/transfer.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "common/clock.hpp"
#include "system/test_folder.hpp"
#include "transfers/move.hpp"

namespace weir::storage {
namespace {

constexpr std::int64_t tiny_call = 1000;  // bytes per system call, so that splitting shows

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

std::vector<std::byte> contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::vector<std::byte> bytes(text.size());
  std::ranges::transform(text, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

// A small file system over a folder, gone when it ends.
class SmallFileSystem {
 public:
  explicit SmallFileSystem(const std::filesystem::path& folder)
      : folder_(folder.string()),
        mounted_(::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64k") == 0) {}
  SmallFileSystem(const SmallFileSystem&) = delete;
  SmallFileSystem& operator=(const SmallFileSystem&) = delete;
  // Detached, as io_uring lets go of its files a little later than its ring is closed.
  ~SmallFileSystem() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  std::string folder_;
  bool mounted_;
};

std::vector<std::byte> part(const std::vector<std::byte>& bytes, std::int64_t offset,
                            std::int64_t count) {
  return {bytes.begin() + offset, bytes.begin() + offset + count};
}

enum class TransferKind { posix, uring, thread };

class TransferTest : public testing::TestWithParam<TransferKind> {
 protected:
  void SetUp() override {
    // As weir-bench does: a write beyond the file size limit is to fail, not to end the program.
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    File file = open({.write = true, .create = true});
    const auto uring = make_uring_transfer(file);
    if (GetParam() == TransferKind::uring && !uring.ok()) {
      ASSERT_EQ(uring.error().code, ErrorCode::unsupported);
      GTEST_SKIP() << uring.error().text();
    }
  }
  void TearDown() override { std::signal(SIGXFSZ, before_); }

  static std::unique_ptr<Transfer> make(const File& file, std::int64_t bytes_per_call = tiny_call) {
    if (GetParam() == TransferKind::posix) return make_posix_transfer(file, bytes_per_call);
    if (GetParam() == TransferKind::thread) return make_thread_transfer(file, bytes_per_call);
    return make_uring_transfer(file, bytes_per_call).value();
  }

  [[nodiscard]] File open(const OpenOptions& options) const { return open(data_path_, options); }
  [[nodiscard]] static File open(const std::string& path, const OpenOptions& options) {
    auto file = File::open(path, options);
    if (!file.ok()) throw std::runtime_error(file.error().text());
    return std::move(file).value();
  }

  static Status run(Transfer& transfer, const TransferRequest& request) {
    if (Status started = transfer.start(request); !started.ok()) return started;
    return transfer.wait(soon());
  }

  static TransferRequest write_of(std::vector<std::byte>& data, std::int64_t offset,
                                  Durability durability = Durability::none) {
    return {Direction::write, data.data(), static_cast<std::int64_t>(data.size()), offset,
            durability};
  }
  static TransferRequest read_of(std::vector<std::byte>& data, std::int64_t offset) {
    return {Direction::read, data.data(), static_cast<std::int64_t>(data.size()), offset,
            Durability::none};
  }

  // A write that fails; its error tells what is asked.
  static void expect_failure(const Status& status, int system_error, const std::string& operation,
                             const std::string& file, std::int64_t offset) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::io) << status.error().text();
    EXPECT_EQ(status.error().system_error, system_error) << status.error().text();
    EXPECT_EQ(status.error().operation, operation);
    EXPECT_EQ(status.error().file, file);
    EXPECT_EQ(status.error().offset, offset);
  }

  TestFolder test_folder_;
  std::string data_path_ = test_folder_.path("data");

 private:
  void (*before_)(int) = SIG_DFL;
};

TEST_P(TransferTest, MovesTheSameBytesWhateverTheSplit) {
  // Up to more pieces than one submission to io_uring holds.
  const std::vector<std::int64_t> sizes = {1, 7, 512, 999, 1000, 1001, 4096, 5005, 30999, 75'000};
  for (const std::int64_t size : sizes) {
    for (const std::int64_t offset : {0, 13, 4096}) {
      SCOPED_TRACE(testing::Message() << size << " bytes at offset " << offset);
      const std::vector<std::byte> background = pattern(100'000, 1);
      std::vector<std::byte> expected = background;
      std::vector<std::byte> data = pattern(size, 2);
      std::copy(data.begin(), data.end(), expected.begin() + offset);
      std::ofstream(data_path_, std::ios::binary)
          .write(reinterpret_cast<const char*>(background.data()),
                 static_cast<std::streamsize>(background.size()));

      const File file = open({.read = true, .write = true});
      const auto transfer = make(file);
      const Status written = run(*transfer, write_of(data, offset));
      ASSERT_TRUE(written.ok()) << written.error().text();
      EXPECT_TRUE(contents(data_path_) == expected);

      std::vector<std::byte> read_back(data.size());
      const Status read = run(*transfer, read_of(read_back, offset));
      ASSERT_TRUE(read.ok()) << read.error().text();
      EXPECT_TRUE(read_back == data);
    }
  }
}

TEST_P(TransferTest, ExtendsAnEmptyFileAndIsDurableAsAsked) {
  for (const Durability durability : {Durability::none, Durability::data, Durability::full}) {
    std::vector<std::byte> data = pattern(10'500, static_cast<unsigned>(durability));
    const File file = open({.read = true, .write = true, .truncate = true});
    const auto transfer = make(file);
    const std::int64_t before = monotonic_ns();
    const Status written = run(*transfer, write_of(data, 0, durability));
    const std::int64_t after = monotonic_ns();
    ASSERT_TRUE(written.ok()) << written.error().text();
    EXPECT_TRUE(contents(data_path_) == data);

    const TransferTiming timing = transfer->timing();
    EXPECT_LE(before, timing.start_ns);
    EXPECT_LE(timing.start_ns, timing.moved_ns);
    EXPECT_LE(timing.moved_ns, timing.end_ns);
    EXPECT_LE(timing.end_ns, after);
    if (durability == Durability::none) {
      EXPECT_EQ(timing.moved_ns, timing.end_ns);
    }
  }
}

// The null device takes every write and refuses every sync: what it refuses shows what was asked.
TEST_P(TransferTest, AsksForTheSyncThatTheRequestNames) {
  const File null = open("/dev/null", {.read = false, .write = true});
  const auto transfer = make(null);
  for (const std::int64_t size : {500, 40'000}) {
    std::vector<std::byte> data = pattern(size, 3);
    EXPECT_TRUE(run(*transfer, write_of(data, 0)).ok());
    expect_failure(run(*transfer, write_of(data, 0, Durability::data)), EINVAL, "fdatasync",
                   "/dev/null", -1);
    expect_failure(run(*transfer, write_of(data, 0, Durability::full)), EINVAL, "fsync",
                   "/dev/null", -1);
  }
}

TEST_P(TransferTest, AReadThatMeetsTheEndOfTheFileIsShort) {
  std::vector<std::byte> data = pattern(2500, 4);
  const File file = open({.read = true, .write = true});
  const auto transfer = make(file);
  ASSERT_TRUE(run(*transfer, write_of(data, 0)).ok());

  struct Case {
    std::int64_t offset, bytes, end;
  };
  for (const Case& c : {Case{0, 4000, 2500}, Case{1500, 1001, 2500}, Case{2500, 10, 2500},
                        Case{9000, 10, 9000}, Case{0, 70'000, 2500}}) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(c.bytes));
    const Status status = run(*transfer, read_of(buffer, c.offset));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::short_transfer);
    EXPECT_EQ(status.error().operation, "read");
    EXPECT_EQ(status.error().file, data_path_);
    EXPECT_EQ(status.error().offset, c.end);
    const std::int64_t moved = c.end - c.offset;
    EXPECT_TRUE(part(buffer, 0, moved) ==
                part(data, std::min<std::int64_t>(c.offset, 2500), moved));
  }
}

TEST_P(TransferTest, AFullDeviceEndsAWriteWithItsCause) {
  const File full = open("/dev/full", {.read = false, .write = true});
  std::vector<std::byte> data = pattern(5000, 5);
  const auto transfer = make(full);
  expect_failure(run(*transfer, write_of(data, 0, Durability::data)), ENOSPC, "write", "/dev/full",
                 0);
}

// Where the space ends within a piece: what fitted is there, and the error tells where it stopped.
TEST_P(TransferTest, AFullFileSystemEndsAWriteWhereItsSpaceEnds) {
  constexpr std::int64_t space = 64 << 10;
  const SmallFileSystem small(test_folder_.folder());
  if (!small.mounted())
    GTEST_SKIP() << "mounting a small file system: " << std::generic_category().message(errno);
  const File file = open({.read = true, .write = true, .create = true});
  std::vector<std::byte> data = pattern(space + 4321, 6);
  const auto transfer = make(file, 10'000);
  expect_failure(run(*transfer, write_of(data, 0, Durability::data)), ENOSPC, "write", data_path_,
                 space);
  EXPECT_TRUE(contents(data_path_) == part(data, 0, space));
}

TEST_P(TransferTest, TheFileSizeLimitEndsAWriteWhereItStands) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  constexpr std::int64_t limit = 9500;
  const rlimit lowered{.rlim_cur = limit, .rlim_max = before.rlim_max};
  const File file = open({.read = true, .write = true});
  std::vector<std::byte> data = pattern(20'000, 7);
  const auto transfer = make(file);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &lowered), 0);
  const Status status = run(*transfer, write_of(data, 0));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  expect_failure(status, EFBIG, "write", data_path_, limit);
  EXPECT_TRUE(contents(data_path_) == part(data, 0, limit));
}

TEST_P(TransferTest, NamesWhatTheSystemRefuses) {
  std::vector<std::byte> data = pattern(3000, 8);
  {
    File closed = open({.read = true, .write = true});
    const auto transfer = make(closed);
    ASSERT_TRUE(closed.close().ok());
    expect_failure(run(*transfer, write_of(data, 50)), EBADF, "write", data_path_, 50);
    expect_failure(run(*transfer, read_of(data, 60)), EBADF, "read", data_path_, 60);
  }
  const File read_only = open({.read = true});
  expect_failure(run(*make(read_only), write_of(data, 0, Durability::full)), EBADF, "write",
                 data_path_, 0);
  EXPECT_TRUE(contents(data_path_).empty());

  const File write_only = open({.read = false, .write = true});
  expect_failure(run(*make(write_only), read_of(data, 0)), EBADF, "read", data_path_, 0);

  const File folder = open(test_folder_.folder().string(), {.read = true});
  expect_failure(run(*make(folder), read_of(data, 0)), EISDIR, "read", folder.path(), 0);
}

TEST_P(TransferTest, GoesOnAfterAFailure) {
  const File file = open({.read = true, .write = true});
  const auto transfer = make(file);
  std::vector<std::byte> data = pattern(3500, 9);
  std::vector<std::byte> buffer(data.size());
  EXPECT_FALSE(run(*transfer, read_of(buffer, 0)).ok());
  EXPECT_TRUE(run(*transfer, write_of(data, 0)).ok());
  EXPECT_TRUE(run(*transfer, read_of(buffer, 0)).ok());
  EXPECT_TRUE(buffer == data);
}

TEST_P(TransferTest, RefusesRequestsThatCannotBe) {
  const File file = open({.read = true, .write = true});
  const auto transfer = make(file);
  std::vector<std::byte> data = pattern(10, 10);
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const std::vector<TransferRequest> wrong = {
      {Direction::write, nullptr, 10, 0, Durability::none},
      {Direction::write, data.data(), 0, 0, Durability::none},
      {Direction::read, data.data(), -1, 0, Durability::none},
      {Direction::read, data.data(), 10, -1, Durability::none},
      {Direction::write, data.data(), 10, largest - 9, Durability::none},
      {Direction::read, data.data(), 10, 0, Durability::data},
  };
  for (const TransferRequest& request : wrong) {
    const Status status = transfer->start(request);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument) << status.error().text();
    EXPECT_EQ(status.error().file, data_path_);
  }
  EXPECT_TRUE(run(*transfer, write_of(data, 0)).ok());
  EXPECT_TRUE(contents(data_path_) == data);
}

TEST_P(TransferTest, CarriesOneRequestAtATime) {
  const File file = open({.read = true, .write = true});
  const auto transfer = make(file);
  std::vector<std::byte> data = pattern(2000, 11);
  EXPECT_TRUE(transfer->poll().value());
  EXPECT_TRUE(transfer->wait(0).ok());

  ASSERT_TRUE(transfer->start(write_of(data, 0)).ok());
  const Status second = transfer->start(write_of(data, 5000));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(transfer->wait(soon()).ok());
  EXPECT_TRUE(transfer->poll().value());
  EXPECT_TRUE(contents(data_path_) == data);
}

TEST_P(TransferTest, FinishesByPollingAlone) {
  const File file = open({.read = true, .write = true});
  const auto transfer = make(file);
  std::vector<std::byte> data = pattern(40'000, 12);
  ASSERT_TRUE(transfer->start(write_of(data, 0, Durability::data)).ok());
  const std::int64_t deadline = soon();
  bool finished = false;
  while (!finished && monotonic_ns() < deadline) {
    const Result<bool> polled = transfer->poll();
    ASSERT_TRUE(polled.ok()) << polled.error().text();
    finished = polled.value();
  }
  EXPECT_TRUE(finished);
  EXPECT_TRUE(contents(data_path_) == data);
}

TEST_P(TransferTest, PollingReportsAFailureOnce) {
  const File full = open("/dev/full", {.read = false, .write = true});
  const auto transfer = make(full);
  std::vector<std::byte> data = pattern(10, 13);
  ASSERT_TRUE(transfer->start(write_of(data, 0)).ok());
  const std::int64_t deadline = soon();
  Result<bool> polled = transfer->poll();
  while (polled.ok() && !polled.value() && monotonic_ns() < deadline) polled = transfer->poll();
  ASSERT_FALSE(polled.ok());
  EXPECT_EQ(polled.error().system_error, ENOSPC);
  EXPECT_TRUE(transfer->poll().value());
  EXPECT_TRUE(transfer->wait(0).ok());
}

TEST_P(TransferTest, ReadsAndWritesOneFileAtTheSameTime) {
  const File file = open({.read = true, .write = true});
  const auto reading = make(file);
  const auto writing = make(file);
  std::vector<std::byte> old_data = pattern(20'000, 14);
  std::vector<std::byte> new_data = pattern(20'000, 15);
  ASSERT_TRUE(run(*writing, write_of(old_data, 0)).ok());

  std::vector<std::byte> buffer(old_data.size());
  ASSERT_TRUE(reading->start(read_of(buffer, 0)).ok());
  ASSERT_TRUE(writing->start(write_of(new_data, 20'000, Durability::data)).ok());
  EXPECT_TRUE(writing->wait(soon()).ok());
  EXPECT_TRUE(reading->wait(soon()).ok());
  EXPECT_TRUE(buffer == old_data);
  EXPECT_TRUE(part(contents(data_path_), 20'000, 20'000) == new_data);
}

TEST_P(TransferTest, DirectIoMovesAlignedBlocksAndMeetsTheEnd) {
  constexpr std::int64_t block = 4096;
  const auto direct = File::open(data_path_, {.read = true, .write = true, .direct = true});
  if (!direct.ok()) GTEST_SKIP() << direct.error().text();
  const auto transfer = make(direct.value(), 2 * block);
  const auto aligned = [](std::int64_t bytes) {
    return std::unique_ptr<std::byte, decltype(&std::free)>(
        static_cast<std::byte*>(
            std::aligned_alloc(static_cast<std::size_t>(block), static_cast<std::size_t>(bytes))),
        &std::free);
  };
  const auto buffer = aligned(5 * block);
  const std::vector<std::byte> data = pattern(5 * block, 16);
  std::memcpy(buffer.get(), data.data(), data.size());
  const Status written =
      run(*transfer, {Direction::write, buffer.get(), 5 * block, block, Durability::data});
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_TRUE(part(contents(data_path_), block, 5 * block) == data);

  std::filesystem::resize_file(data_path_, 3 * block + 100);
  const Status read =
      run(*transfer, {Direction::read, buffer.get(), 5 * block, 0, Durability::none});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::short_transfer) << read.error().text();
  EXPECT_EQ(read.error().offset, 3 * block + 100);
}

TEST_P(TransferTest, TheDefaultSplitMovesTheSame) {
  const File file = open({.read = true, .write = true});
  std::unique_ptr<Transfer> transfer;
  if (GetParam() == TransferKind::posix) transfer = make_posix_transfer(file);
  if (GetParam() == TransferKind::thread) transfer = make_thread_transfer(file);
  if (GetParam() == TransferKind::uring) transfer = make_uring_transfer(file).value();
  std::vector<std::byte> data = pattern(3'000'001, 17);
  std::vector<std::byte> buffer(data.size());
  EXPECT_TRUE(run(*transfer, write_of(data, 5)).ok());
  EXPECT_TRUE(run(*transfer, read_of(buffer, 5)).ok());
  EXPECT_TRUE(buffer == data);
}

std::string name_of(TransferKind engine) {
  if (engine == TransferKind::posix) return "posix";
  return engine == TransferKind::uring ? "io_uring" : "thread";
}

TEST_P(TransferTest, SaysWhatMovesTheBytes) {
  const File file = open({.read = true});
  EXPECT_EQ(make(file)->mechanism(), name_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Engines, TransferTest,
                         testing::Values(TransferKind::posix, TransferKind::uring,
                                         TransferKind::thread),
                         [](const auto& engine) { return name_of(engine.param); });

TEST(BackgroundTransferTest, PrefersIoUringWhereItIsToBeHad) {
  const TestFolder folder;
  const auto file = File::open(folder.path("data"), {.read = true, .write = true, .create = true});
  ASSERT_TRUE(file.ok());
  const bool has_uring = make_uring_transfer(file.value()).ok();
  EXPECT_EQ(make_background_transfer(file.value())->mechanism(), has_uring ? "io_uring" : "thread");
}

TEST(MoveFailureTest, TellsADirectFilesUserAboutAlignment) {
  const TestFolder folder;
  const std::string path = folder.path("data");
  const auto file = File::open(path, {.write = true, .create = true, .direct = true});
  if (!file.ok()) GTEST_SKIP() << file.error().text();
  const TransferRequest request{.direction = Direction::write, .bytes = 8, .offset = 3};
  const Error error = move_failure(file.value(), request, 0, EINVAL);
  EXPECT_NE(error.text().find("O_DIRECT"), std::string::npos) << error.text();
  EXPECT_NE(error.text().find(path), std::string::npos);
}

}  // namespace
}  // namespace weir::storage
