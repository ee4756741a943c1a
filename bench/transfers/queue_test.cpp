#include "transfers/queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr int depth = 4;
constexpr std::int64_t piece = 4096;
constexpr int pieces = 50;

std::unique_ptr<TransferQueue> queue_on(const File& file) {
  auto made = make_uring_queue(file, depth);
  return made ? std::move(made).value() : nullptr;
}

// Moves all pieces, in an order that is not the file's, with as many in flight as there are slots.
Status move_all(TransferQueue& queue, Direction direction, std::vector<std::byte>& data) {
  const auto request = [&](int i) {
    const std::int64_t offset = std::int64_t{(i * 7) % pieces} * piece;
    return TransferRequest{
        .direction = direction, .buffer = data.data() + offset, .bytes = piece, .offset = offset};
  };
  int next = 0;
  for (; next < depth; ++next) {
    if (Status status = queue.submit(next, request(next)); !status) return status;
  }
  while (queue.in_flight() > 0) {
    const auto end = queue.wait_one();
    if (!end) return end.error();
    if (next < pieces) {
      if (Status status = queue.submit(end.value().slot, request(next++)); !status) return status;
    }
  }
  return {};
}

TEST(TransferQueue, MovesEveryPieceToItsPlace) {
  const TestFolder folder;
  const auto file = File::open(folder.path("file"), {.write = true, .create = true});
  ASSERT_TRUE(file);
  const auto queue = queue_on(file.value());
  if (queue == nullptr) GTEST_SKIP() << "no io_uring here";
  std::vector<std::byte> written(pieces * piece);
  for (std::size_t i = 0; i < written.size(); ++i) {
    written[i] = static_cast<std::byte>((i * 2654435761U) >> 11U);
  }
  ASSERT_TRUE(move_all(*queue, Direction::write, written));
  std::vector<std::byte> read(written.size());
  ASSERT_TRUE(move_all(*queue, Direction::read, read));
  EXPECT_EQ(written, read);
}

TEST(TransferQueue, AReadBeyondTheEndFailsWithItsOffset) {
  const TestFolder folder;
  const auto file = File::open(folder.path("file"), {.write = true, .create = true});
  ASSERT_TRUE(file);
  const auto queue = queue_on(file.value());
  if (queue == nullptr) GTEST_SKIP() << "no io_uring here";
  std::vector<std::byte> data(piece);
  ASSERT_TRUE(queue->submit(
      0, {.direction = Direction::write, .buffer = data.data(), .bytes = 100, .offset = 0}));
  ASSERT_TRUE(queue->wait_one());
  ASSERT_TRUE(queue->submit(
      2, {.direction = Direction::read, .buffer = data.data(), .bytes = piece, .offset = 0}));
  const auto end = queue->wait_one();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::short_transfer);
  EXPECT_EQ(end.error().offset, 100);
  EXPECT_EQ(queue->in_flight(), 0);
}

TEST(TransferQueue, WaitingForNothingIsAnError) {
  const TestFolder folder;
  const auto file = File::open(folder.path("file"), {.write = true, .create = true});
  ASSERT_TRUE(file);
  const auto queue = queue_on(file.value());
  if (queue == nullptr) GTEST_SKIP() << "no io_uring here";
  EXPECT_FALSE(queue->wait_one());
  EXPECT_FALSE(make_uring_queue(file.value(), 0));
}

TEST(TransferQueue, IsAtMostSoDeep) {
  const TestFolder folder;
  const auto file = File::open(folder.path("file"), {.write = true, .create = true});
  ASSERT_TRUE(file);
  if (queue_on(file.value()) == nullptr) GTEST_SKIP() << "no io_uring here";
  const auto deepest = make_uring_queue(file.value(), 4096);
  EXPECT_TRUE(deepest.ok()) << deepest.error().text();
  const auto deeper = make_uring_queue(file.value(), 4097);
  ASSERT_FALSE(deeper.ok());
  EXPECT_NE(deeper.error().text().find("between 1 and 4096"), std::string::npos);
}

}  // namespace
}  // namespace weir::storage
