#include "sections/stored_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engines/test_faulty_engine.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

std::shared_ptr<OpenFiles> posix_files(std::size_t most_open = 128) {
  return std::make_shared<OpenFiles>(make_posix_engine(), most_open);
}

std::vector<std::byte> stored_bytes(std::size_t count, std::size_t seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}

DataFiles made_when_written(const std::string& prefix, std::int64_t files, std::int64_t bytes) {
  DataFiles data = DataFiles::numbered(prefix, files);
  data.set_bytes_when_made(bytes);
  return data;
}

// An engine that loses bytes and says that all went well.
TEST(StoredFiles, BytesThatWentNowhereAreAnError) {
  const TestFolder folder;
  std::vector<std::byte> bytes(30);
  const std::array<Slice, 3> slices = {
      {{bytes.data(), 10}, {bytes.data() + 10, 10}, {bytes.data() + 20, 10}}};
  std::vector<StoredRange> ranges;
  ranges.reserve(slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    ranges.push_back({0, static_cast<std::int64_t>(100 * i), {&slices.at(i), 1}});
  }
  for (const auto operation : {Fault::Operation::write, Fault::Operation::read}) {
    // The last of three ranges is lost, then all are.
    for (const std::int64_t number : {3, 1}) {
      const Fault fault{.operation = operation, .number = number, .is_dropped = true};
      StoredFiles files(
          made_when_written(folder.path("a."), 1, 300), true,
          std::make_shared<OpenFiles>(make_faulty_engine(make_posix_engine(), fault)));
      FileTraffic traffic;
      const Status written = files.write(ranges, traffic);
      const bool writes = operation == Fault::Operation::write;
      EXPECT_EQ(written.ok(), !writes);
      const Status moved = writes ? written : files.read(ranges, traffic);
      ASSERT_FALSE(moved.ok());
      EXPECT_EQ(moved.error().code, ErrorCode::short_transfer);
      const std::string counted = fmt::format("30 requested, {} moved", number == 3 ? 20 : 0);
      EXPECT_NE(moved.error().text().find(counted), std::string::npos) << moved.error().text();
    }
  }
}

TEST(StoredFiles, TakeMoreSlicesThanOneCall) {
  const TestFolder folder;
  std::vector<std::byte> data = stored_bytes(5000, 1);
  std::vector<Slice> parts;
  parts.reserve(data.size());
  for (std::byte& one : data) parts.push_back({&one, 1});
  StoredFiles files(made_when_written(folder.path("a."), 1, 5000), true, posix_files());
  FileTraffic traffic;
  ASSERT_TRUE(files.write(0, parts, 0, traffic).ok());
  EXPECT_EQ(traffic.calls, 5);
  std::vector<std::byte> again(5000);
  const Slice whole{again.data(), 5000};
  ASSERT_TRUE(files.read(0, {&whole, 1}, 0, traffic).ok());
  EXPECT_EQ(again, data);
}

TEST(StoredFiles, TellBeforeTheFirstTransferWhetherBatchesGain) {
  const TestFolder folder;
  const DataFiles data = made_when_written(folder.path("a."), 2, 100);
  StoredFiles blocking(data, true, posix_files());
  EXPECT_FALSE(blocking.gains_from_batches(1, true).value());
  if (auto uring = make_uring_engine()) {
    StoredFiles files(data, true, std::make_shared<OpenFiles>(std::move(uring).value(), 128));
    EXPECT_TRUE(files.gains_from_batches(1, true).value());
  }
  StoredFiles missing(DataFiles::one(folder.path("none")), true, posix_files());
  EXPECT_EQ(missing.gains_from_batches(0, true).error().file, folder.path("none"));
}

TEST(StoredFiles, TellWhereAFileEnds) {
  const TestFolder folder;
  std::ofstream(folder.path("a")) << std::string(100, 'a');
  StoredFiles files(DataFiles::one(folder.path("a")), false, posix_files());
  std::vector<std::byte> data(32);
  const Slice slice{data.data(), 32};
  FileTraffic traffic;
  const Status read = files.read(0, {&slice, 1}, 96, traffic);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().offset, 100);
  EXPECT_FALSE(files.write(0, {&slice, 1}, 0, traffic).ok());
}

TEST(StoredFiles, AreMadeWholeByWritingAndMissingUntilThen) {
  const TestFolder folder;
  const DataFiles data = made_when_written(folder.path("deep/er/c."), 3, 100);
  StoredFiles files(data, true, posix_files());
  EXPECT_FALSE(files.is_there(1).value());
  EXPECT_FALSE(std::filesystem::exists(data.path(1)));
  auto written = stored_bytes(10, 3);
  const Slice slice{written.data(), 10};
  FileTraffic traffic;
  ASSERT_TRUE(files.write(1, {&slice, 1}, 40, traffic).ok());
  EXPECT_EQ(traffic.written, 10);
  EXPECT_TRUE(files.is_there(1).value());
  EXPECT_FALSE(files.is_there(0).value());
  EXPECT_EQ(std::filesystem::file_size(data.path(1)), 100U);
  ASSERT_TRUE(files.sync().ok());
  ASSERT_TRUE(files.close().ok());
  // A later process does not empty the file.
  StoredFiles later(data, true, posix_files());
  std::vector<std::byte> whole(100);
  const Slice all{whole.data(), 100};
  EXPECT_TRUE(later.is_there(1).value());
  ASSERT_TRUE(later.read(1, {&all, 1}, 0, traffic).ok());
  EXPECT_EQ(std::vector<std::byte>(whole.begin() + 40, whole.begin() + 50), written);
  // A file that has to be there is not made.
  StoredFiles fixed(DataFiles::one(folder.path("none")), true, posix_files());
  EXPECT_TRUE(fixed.is_there(0).value());
  const Status refused = fixed.write(0, {&slice, 1}, 0, traffic);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().file, folder.path("none"));
}

// Several processes write parts of the same missing files at once; nobody's part is lost.
TEST(StoredFiles, AreMadeBySeveralProcessesAtOnce) {
  constexpr int processes = 4;
  constexpr std::int64_t count = 40;
  const TestFolder folder;
  const DataFiles data = made_when_written(folder.path("x/c."), count, processes * 8);
  std::array<int, 2> start{};
  ASSERT_EQ(::pipe(start.data()), 0);
  std::vector<pid_t> children;
  for (int part = 0; part < processes; ++part) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    char go = 0;
    ::close(start[1]);
    (void)!::read(start[0], &go, 1);  // all at once, when the pipe is closed
    StoredFiles files(data, true, posix_files(8));
    auto bytes = stored_bytes(8, static_cast<std::size_t>(part));
    const Slice slice{bytes.data(), 8};
    FileTraffic traffic;
    bool good = true;
    for (std::int64_t file = 0; file < count; ++file) {
      good = good && files.write(file, {&slice, 1}, part * 8, traffic).ok();
    }
    ::_exit(good && files.sync().ok() ? 0 : 1);
  }
  ::close(start[0]);
  ::close(start[1]);
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  StoredFiles files(data, false, posix_files());
  for (std::int64_t file = 0; file < count; ++file) {
    EXPECT_EQ(std::filesystem::file_size(data.path(file)), processes * 8U);
    for (int part = 0; part < processes; ++part) {
      std::vector<std::byte> bytes(8);
      const Slice slice{bytes.data(), 8};
      FileTraffic traffic;
      ASSERT_TRUE(files.read(file, {&slice, 1}, part * 8, traffic).ok());
      EXPECT_EQ(bytes, stored_bytes(8, static_cast<std::size_t>(part)));
    }
  }
}

// A second array of the file, and one that writes its bytes.
struct TwoArrays {
  TwoArrays(const TestFolder& folder, std::unique_ptr<Engine> engine)
      : data(made_when_written(folder.path("both."), 1, 64)),
        open(std::make_shared<OpenFiles>(std::move(engine))),
        first(data, true, open),
        second(data, true, open) {}
  static Status write(StoredFiles& files, std::int64_t offset) {
    auto bytes = stored_bytes(8, 1);
    const Slice slice{bytes.data(), 8};
    FileTraffic traffic;
    return files.write(0, {&slice, 1}, offset, traffic);
  }

  DataFiles data;
  std::shared_ptr<OpenFiles> open;
  StoredFiles first;
  StoredFiles second;
};

// The system tells of lost bytes once, and drops them.
TEST(StoredFiles, BytesThatCouldNotBeMadeDurableAreLostUntilTheyAreWrittenAgain) {
  const TestFolder folder;
  const Fault fault{
      .operation = Fault::Operation::sync, .number = 1, .is_once = true, .system_error = EIO};
  TwoArrays arrays(folder, make_faulty_engine(make_posix_engine(), fault));
  ASSERT_TRUE(TwoArrays::write(arrays.first, 0).ok());
  ASSERT_TRUE(TwoArrays::write(arrays.second, 32).ok());
  EXPECT_FALSE(arrays.first.sync().ok());
  for (StoredFiles* const one : {&arrays.first, &arrays.second}) {
    const Status again = one->sync();
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().system_error, EIO);
    EXPECT_EQ(again.error().file, arrays.data.path(0));
    EXPECT_NE(again.error().message.find("write it again"), std::string::npos);
  }
  arrays.first.forget_losses();
  ASSERT_TRUE(TwoArrays::write(arrays.first, 0).ok());
  EXPECT_TRUE(arrays.first.sync().ok());
  EXPECT_FALSE(arrays.second.sync().ok());
  // What is written only now is not lost.
  arrays.second.forget_losses();
  ASSERT_TRUE(TwoArrays::write(arrays.second, 32).ok());
  EXPECT_TRUE(arrays.second.sync().ok());
}

TEST(StoredFiles, BytesWrittenAfterAnotherArrayWasMadeDurableAreMadeDurableToo) {
  const TestFolder folder;
  const Fault second_sync{.operation = Fault::Operation::sync, .number = 2, .system_error = EIO};
  TwoArrays arrays(folder, make_faulty_engine(make_posix_engine(), second_sync));
  ASSERT_TRUE(TwoArrays::write(arrays.second, 32).ok());
  ASSERT_TRUE(TwoArrays::write(arrays.first, 0).ok());
  ASSERT_TRUE(arrays.first.sync().ok());
  EXPECT_TRUE(arrays.second.sync().ok());  // nothing is left to do
  ASSERT_TRUE(TwoArrays::write(arrays.second, 40).ok());
  EXPECT_FALSE(arrays.second.sync().ok()) << "the engine was not asked";
}

TEST(StoredFiles, FilesOfAFailedStepMayBeRemovedUntilTheyAreWrittenAgain) {
  const TestFolder folder;
  TwoArrays arrays(folder, make_posix_engine());
  ASSERT_TRUE(TwoArrays::write(arrays.first, 0).ok());
  ASSERT_TRUE(arrays.first.close().ok());
  std::filesystem::remove(arrays.data.path(0));
  EXPECT_EQ(arrays.first.sync().error().system_error, ENOENT);
  ASSERT_TRUE(TwoArrays::write(arrays.first, 0).ok());
  ASSERT_TRUE(arrays.first.abandon().ok());
  EXPECT_EQ(arrays.open->open_files(), 0);
  std::filesystem::remove(arrays.data.path(0));
  EXPECT_TRUE(arrays.first.sync().ok());
  ASSERT_TRUE(TwoArrays::write(arrays.first, 0).ok());
  ASSERT_TRUE(arrays.first.abandon().ok());
  ASSERT_TRUE(TwoArrays::write(arrays.first, 0).ok());
  EXPECT_TRUE(std::filesystem::exists(arrays.data.path(0)));
  ASSERT_TRUE(arrays.first.close().ok());
  std::filesystem::remove(arrays.data.path(0));
  EXPECT_EQ(arrays.first.sync().error().system_error, ENOENT);
}

// One call may name more files than are open together.
TEST(StoredFiles, MoveRangesOfMoreFilesThanAreOpen) {
  const TestFolder folder;
  const DataFiles data = made_when_written(folder.path("c."), 10, 16);
  const auto open = posix_files(3);
  StoredFiles files(data, true, open);
  std::vector<std::vector<std::byte>> written;
  std::vector<Slice> slices;
  std::vector<StoredRange> ranges;
  written.reserve(20);
  slices.reserve(20);
  ranges.reserve(20);
  for (std::size_t i = 0; i < 20; ++i) {
    written.push_back(stored_bytes(8, i * 11));
    slices.push_back({written.back().data(), 8});
  }
  for (std::size_t i = 0; i < 20; ++i) {
    ranges.push_back({static_cast<std::int64_t>(i % 10), i < 10 ? 8 : 0, {&slices[i], 1}});
  }
  FileTraffic traffic;
  ASSERT_TRUE(files.write(ranges, traffic).ok());
  EXPECT_EQ(traffic.written, 160);
  EXPECT_EQ(open->open_files(), 3);
  ASSERT_TRUE(files.sync().ok());
  auto read = std::vector<std::vector<std::byte>>(20, std::vector<std::byte>(8));
  for (std::size_t i = 0; i < 20; ++i) slices[i].data = read[i].data();
  ASSERT_TRUE(files.read(ranges, traffic).ok());
  EXPECT_EQ(read, written);
  EXPECT_EQ(traffic.read, 160);
  ASSERT_TRUE(files.close().ok());
  EXPECT_EQ(open->open_files(), 0);
}

// A process that has a file open is told what became of its bytes, so that is asked before closing.
TEST(StoredFiles, FilesThatAreClosedToMakeRoomAreMadeDurableBefore) {
  for (const DataFileCache::Closing closing :
       {DataFileCache::Closing::makes_durable, DataFileCache::Closing::leaves_to_sync}) {
    const TestFolder folder;
    const Fault fault{.operation = Fault::Operation::sync, .number = 1, .system_error = EIO};
    const auto open =
        std::make_shared<OpenFiles>(make_faulty_engine(make_posix_engine(), fault), 2);
    StoredFiles files(made_when_written(folder.path("c."), 3, 16), true, open);
    files.set_closing(closing);
    std::vector<Status> written;
    for (std::int64_t file = 0; file < 3; ++file) {
      auto bytes = stored_bytes(8, 1);
      const Slice slice{bytes.data(), 8};
      FileTraffic traffic;
      written.push_back(files.write(file, {&slice, 1}, 0, traffic));
    }
    EXPECT_TRUE(written[0].ok());
    EXPECT_TRUE(written[1].ok());
    if (closing == DataFileCache::Closing::leaves_to_sync) {
      EXPECT_TRUE(written[2].ok());
      continue;
    }
    ASSERT_FALSE(written[2].ok());
    EXPECT_EQ(written[2].error().system_error, EIO);
    const Status later = files.sync();
    ASSERT_FALSE(later.ok());
    EXPECT_NE(later.error().message.find("write it again"), std::string::npos);
  }
}

// A rank that hands bytes over must not name a file again that rank 0 may have removed meanwhile.
TEST(StoredFiles, ClosedFilesOfAnEngineWithoutAFileSystemAreNotOpenedToSync) {
  OpenFiles open(make_memory_engine(), 2);
  const std::vector<std::string> path = {"c"};
  ASSERT_TRUE(open.get("c", {.write = true, .bytes_when_made = 4}).ok());
  open.written("c");
  ASSERT_TRUE(open.close("c").ok());
  EXPECT_TRUE(open.sync(path).ok());
  EXPECT_EQ(open.open_files(), 0);
}

// Rank 0 removes the files of a step that was given up, also those that a stager has closed.
TEST(StoredFiles, ClosedFilesMayBeRemovedWhereSyncComesLast) {
  for (const DataFileCache::Closing closing :
       {DataFileCache::Closing::makes_durable, DataFileCache::Closing::leaves_to_sync}) {
    const TestFolder folder;
    const auto open = std::make_shared<OpenFiles>(make_posix_engine(), 2);
    const DataFiles data = made_when_written(folder.path("c."), 3, 16);
    StoredFiles files(data, true, open);
    files.set_closing(closing);
    for (std::int64_t file = 0; file < 3; ++file) {
      auto bytes = stored_bytes(8, 1);
      const Slice slice{bytes.data(), 8};
      FileTraffic traffic;
      ASSERT_TRUE(files.write(file, {&slice, 1}, 0, traffic).ok());
    }
    ASSERT_TRUE(std::filesystem::remove(data.path(0)));
    EXPECT_TRUE(files.sync().ok());
  }
}

// A file that one array opened for reading is opened again for another that writes.
TEST(StoredFiles, ShareTheFilesOfOtherArrays) {
  const TestFolder folder;
  const DataFiles data = made_when_written(folder.path("c."), 1, 16);
  const auto open = posix_files();
  StoredFiles writer(data, true, open);
  StoredFiles reader(data, false, open);
  auto bytes = stored_bytes(16, 1);
  const Slice slice{bytes.data(), 16};
  FileTraffic traffic;
  ASSERT_TRUE(writer.write(0, {&slice, 1}, 0, traffic).ok());
  std::vector<std::byte> read(16);
  const Slice into{read.data(), 16};
  ASSERT_TRUE(reader.read(0, {&into, 1}, 0, traffic).ok());
  EXPECT_EQ(open->open_files(), 1);
  EXPECT_EQ(read, bytes);
  ASSERT_TRUE(reader.close().ok());
  ASSERT_TRUE(reader.read(0, {&into, 1}, 0, traffic).ok());
  std::ranges::copy(stored_bytes(16, 2), bytes.begin());
  ASSERT_TRUE(writer.write(0, {&slice, 1}, 0, traffic).ok());
  ASSERT_TRUE(writer.close().ok());
  ASSERT_TRUE(writer.sync().ok());  // of a file that was closed meanwhile
  ASSERT_TRUE(reader.read(0, {&into, 1}, 0, traffic).ok());
  EXPECT_EQ(read, bytes);
  EXPECT_FALSE(reader.write(0, {&slice, 1}, 0, traffic).ok());
  std::filesystem::resize_file(data.path(0), 10);
  const Status early = reader.read(0, {&into, 1}, 0, traffic);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, ErrorCode::short_transfer);
  EXPECT_EQ(early.error().offset, 10);
}

}  // namespace
}  // namespace weir::storage
