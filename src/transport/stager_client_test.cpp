// A rank asks a stager for blocks; this stager only grants them.
#include "transport/stager_client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "system/frame_socket.hpp"
#include "system/shared_memory.hpp"
#include "system/test_folder.hpp"

namespace weir::transport {
namespace {

constexpr std::int64_t small_block_bytes = 4096;
constexpr std::int64_t all_blocks = 512;
// The bytes that a block with one extent holds.
constexpr std::int64_t filled_bytes = small_block_bytes - extent_bytes;
constexpr std::int64_t piece_bytes = 1000;

std::byte byte_at(std::int64_t offset) { return static_cast<std::byte>(offset % 251); }

// Answers one rank until that leaves; never grants a block twice.
class GrantingStager {
 public:
  explicit GrantingStager(std::int64_t most_granted)
      : most_granted_(most_granted),
        listener_(storage::FrameListener::listen(path())),
        memory_(storage::SharedMemory::create(all_blocks * small_block_bytes)),
        thread_([this] { serve(); }) {}
  GrantingStager(const GrantingStager&) = delete;
  GrantingStager& operator=(const GrantingStager&) = delete;
  ~GrantingStager() { wait(); }

  [[nodiscard]] std::string path() const { return folder_.path("own/socket"); }
  // Waits until the rank has left.
  void wait() {
    if (thread_.joinable()) thread_.join();
  }
  // The stager got these, once the rank has left: blocks that were asked for, and filled blocks
  // before each Flush.
  [[nodiscard]] const std::vector<std::vector<std::int64_t>>& asked() const { return asked_; }
  [[nodiscard]] const std::vector<std::int64_t>& filled_blocks() const { return filled_blocks_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  void serve() {
    ASSERT_TRUE(listener_.ok() && memory_.ok());
    std::optional<storage::FrameSocket> rank;
    for (int i = 0; !rank; ++i) {
      ASSERT_LT(i, 60'000) << "nobody connects";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      rank = listener_.value().accept();
    }
    for (;;) {
      auto frame = rank->next();
      if (!frame) return;
      if (!frame.value()) {
        rank->wait(100);
        continue;
      }
      const auto message = parse(frame.value()->payload);
      ASSERT_TRUE(message.ok()) << message.error().text();
      std::visit([&](const auto& one) { take(*rank, one); }, message.value());
      if (std::holds_alternative<Goodbye>(message.value())) return;
    }
  }
  void take(storage::FrameSocket& rank, const Hello& /*message*/) {
    const Welcome welcome{.blocks = all_blocks, .block_bytes = small_block_bytes, .stager = "s"};
    EXPECT_TRUE(rank.send(encode(welcome), &memory_.value().file()).ok());
  }
  void take(storage::FrameSocket& rank, const Reserve& message) {
    asked_.back().push_back(message.blocks);
    Granted granted;
    for (std::int64_t i = std::min(message.blocks, most_granted_); i > 0; --i) {
      granted.blocks.push_back(granted_++);
    }
    EXPECT_TRUE(rank.send(encode(granted)).ok());
  }
  void take(storage::FrameSocket& /*rank*/, const FilledBlock& message) {
    EXPECT_TRUE(is_named_) << "the file's name comes first";
    ++filled_blocks_.back();
    const std::span block(memory_.value().data() + message.block * small_block_bytes,
                          small_block_bytes);
    const auto extents = extents_of(block, message.extents);
    ASSERT_TRUE(extents.ok()) << extents.error().text();
    std::size_t at = 0;
    for (const BlockExtent& one : extents.value()) {
      for (std::int64_t i = 0; i < one.bytes; ++i) {
        if (block[at++] != byte_at(one.offset + i)) ADD_FAILURE() << "at " << one.offset + i;
      }
      bytes_ += one.bytes;
    }
  }
  void take(storage::FrameSocket& rank, const Flush& /*message*/) {
    EXPECT_TRUE(rank.send(encode(Flushed{})).ok());
    asked_.emplace_back();
    filled_blocks_.push_back(0);
  }
  void take(storage::FrameSocket& rank, const HandOver& message) {
    asked_.emplace_back();
    filled_blocks_.push_back(0);
    Granted granted;
    for (std::int64_t i = message.blocks; i > 0; --i) granted.blocks.push_back(granted_++);
    EXPECT_TRUE(rank.send(encode(granted)).ok());
  }
  void take(storage::FrameSocket& /*rank*/, const NameFile& /*message*/) { is_named_ = true; }
  template <typename Other>
  void take(storage::FrameSocket& /*rank*/, const Other& /*message*/) {}

  std::int64_t most_granted_;
  storage::TestFolder folder_;
  Result<storage::FrameListener> listener_;
  Result<storage::SharedMemory> memory_;
  std::int64_t granted_ = 0;
  bool is_named_ = false;
  std::vector<std::vector<std::int64_t>> asked_ = {{}};
  std::vector<std::int64_t> filled_blocks_ = {0};
  std::int64_t bytes_ = 0;
  std::thread thread_;
};

// Writes as much as fills so many blocks, in pieces of at most `most_bytes`.
void write(StagerClient& client, std::uint64_t file, std::int64_t count, std::int64_t most_bytes) {
  const std::int64_t bytes = count * filled_bytes;
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  for (std::int64_t i = 0; i < bytes; ++i) data[static_cast<std::size_t>(i)] = byte_at(i);
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t taken = std::min(most_bytes, bytes - done);
    const storage::Slice slice{data.data() + done, taken};
    ASSERT_TRUE(client.write(file, done, {&slice, 1}).ok());
    done += taken;
  }
}

void hand_over(StagerClient& client, std::uint64_t file, std::int64_t count,
               std::int64_t most_bytes) {
  write(client, file, count, most_bytes);
  ASSERT_TRUE(client.hand_over().ok());
}

struct Asking {
  std::int64_t most_granted = all_blocks;
  std::int64_t most_bytes = piece_bytes;
  std::vector<std::int64_t> counts;              // blocks that each hand-over fills
  std::vector<std::vector<std::int64_t>> asked;  // expected, one list for each, and an empty one
};

class StagerClients : public testing::TestWithParam<Asking> {};

TEST_P(StagerClients, AskForTheBlocksOfTheRequestBefore) {
  GrantingStager stager(GetParam().most_granted);
  std::int64_t filled = 0;
  {
    auto client =
        StagerClient::connect(stager.path(), {.session = {}, .rank = 0, .program = "p"}, 60);
    ASSERT_TRUE(client.ok()) << client.error().text();
    const auto file = client.value()->name_file("f", {.write = true});
    ASSERT_TRUE(file.ok());
    for (const std::int64_t count : GetParam().counts) {
      hand_over(*client.value(), file.value(), count, GetParam().most_bytes);
      filled += count;
    }
  }
  stager.wait();
  EXPECT_EQ(stager.asked(), GetParam().asked);
  std::vector<std::int64_t> filled_blocks = GetParam().counts;
  filled_blocks.push_back(0);
  EXPECT_EQ(stager.filled_blocks(), filled_blocks);
  EXPECT_EQ(stager.bytes(), filled * filled_bytes);
}

// A rank that does not wait for answers gets with the last one what it needs next.
TEST(StagerClient, HandsOverWithoutAnAnswer) {
  GrantingStager stager(all_blocks);
  {
    auto connected =
        StagerClient::connect(stager.path(), {.session = {}, .rank = 0, .program = "p"}, 60);
    ASSERT_TRUE(connected.ok()) << connected.error().text();
    StagerClient& client = *connected.value();
    const auto file = client.name_file("f", {.write = true});
    ASSERT_TRUE(file.ok());
    for (const std::int64_t count : {2, 2, 3, 1}) {
      write(client, file.value(), count, 100 * small_block_bytes);
      ASSERT_TRUE(client.hand_over_unanswered().ok());
      ASSERT_TRUE(client.hand_over_unanswered().ok()) << "nothing is left";
    }
    ASSERT_TRUE(client.give_back().ok());
    hand_over(client, file.value(), 1, 100 * small_block_bytes);
    write(client, file.value(), 1, 100 * small_block_bytes);
    ASSERT_TRUE(client.hand_over_unanswered().ok());
    ASSERT_TRUE(client.check().ok());  // the blocks that were granted are the stager's again
    hand_over(client, file.value(), 1, 100 * small_block_bytes);
  }
  stager.wait();
  const std::vector<std::vector<std::int64_t>> asked = {{2}, {},  {2}, {},  {},
                                                        {1}, {1}, {},  {1}, {}};
  EXPECT_EQ(stager.asked(), asked);
  EXPECT_EQ(stager.filled_blocks(), std::vector<std::int64_t>({2, 2, 3, 1, 0, 1, 1, 0, 1, 0}));
  EXPECT_EQ(stager.bytes(), 11 * filled_bytes);
}

INSTANTIATE_TEST_SUITE_P(
    All, StagerClients,
    testing::Values(
        // The first request is not known beforehand; a shorter one teaches to ask for less.
        Asking{.counts = {3, 3, 1, 3}, .asked = {{1, 1, 2}, {3}, {3}, {1, 1, 2}, {}}},
        Asking{.most_granted = 1, .counts = {3, 3}, .asked = {{1, 1, 2}, {3, 2, 2}, {}}},
        Asking{.most_granted = 2, .counts = {5, 5}, .asked = {{1, 1, 2, 4}, {5, 3, 4}, {}}},
        // A rank that writes much at once says so, up to the limit of one message.
        Asking{.most_bytes = 100 * small_block_bytes,
               .counts = {2, 63, 64, 65},
               .asked = {{2}, {63}, {64}, {64, 64}, {}}}));

}  // namespace
}  // namespace weir::transport
