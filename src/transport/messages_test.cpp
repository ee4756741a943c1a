#include "transport/messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "array/copy_kernels.hpp"
#include "transport/filled_block.hpp"
#include "transport/test_messages.hpp"

namespace weir::transport {
namespace {

TEST(Messages, ArriveAsTheyWereSent) {
  std::vector<bool> seen(std::variant_size_v<Message>);
  for (const Message& message : test_messages()) {
    seen[message.index()] = true;
    const auto arrived = parse(encode(message));
    ASSERT_TRUE(arrived.ok()) << message.index();
    EXPECT_EQ(arrived.value(), message) << message.index();
  }
  for (std::size_t kind = 0; kind < seen.size(); ++kind) EXPECT_TRUE(seen[kind]) << kind;
}

TEST(Messages, KeepWhatAnErrorSays) {
  const auto arrived = parse(encode(Flushed{{system_failure("write", "/x", 12, 28)}}));
  ASSERT_TRUE(arrived.ok());
  const Error error = std::get<Flushed>(arrived.value()).outcome.status.error();
  EXPECT_EQ(error.system_error, 28);
  EXPECT_EQ(error.offset, 12);
  EXPECT_EQ(error.file, "/x");
}

TEST(Messages, OneByteLessOrMoreIsRefused) {
  for (const Message& message : test_messages()) {
    std::vector<std::byte> bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(parse(std::span(bytes).first(length)).ok()) << message.index() << ' ' << length;
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(parse(bytes).ok()) << message.index();
  }
}

TEST(Messages, AnotherVersionIsRefusedByName) {
  std::vector<std::byte> bytes = encode(Flush{});
  bytes[2] = static_cast<std::byte>(protocol_version + 1);
  const auto arrived = parse(bytes);
  ASSERT_FALSE(arrived.ok());
  EXPECT_NE(arrived.error().message.find("different versions"), std::string::npos);
}

// Damaged messages are refused or mean something else, but never do harm.
TEST(Messages, DamageDoesNoHarm) {
  std::mt19937 random(1);
  for (const Message& message : test_messages()) {
    const std::vector<std::byte> bytes = encode(message);
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::byte> damaged = bytes;
      for (auto n = 1 + random() % 3; n > 0; --n) {
        damaged[random() % damaged.size()] = static_cast<std::byte>(random());
      }
      const auto arrived = parse(damaged);
      if (!arrived) continue;
      EXPECT_EQ(encode(arrived.value()), damaged);
    }
  }
}

TEST(Messages, ClaimNoMoreItemsThanTheyHaveBytes) {
  std::vector<std::byte> bytes = encode(Granted{{1}});
  bytes[4 + 5] = std::byte{1};  // the length becomes 2^40 + 1
  EXPECT_FALSE(parse(bytes).ok());
}

TEST(Messages, HaveAListOfAtMost2To20Items) {
  constexpr std::size_t most = std::size_t{1} << 20;
  Granted granted;
  granted.blocks.resize(most);
  EXPECT_TRUE(parse(encode(granted)).ok());
  granted.blocks.push_back(0);
  EXPECT_FALSE(parse(encode(granted)).ok());
}

class FilledBlocks : public testing::Test {
 protected:
  static constexpr std::size_t size = 200;
  std::vector<std::byte> block_ = std::vector<std::byte>(size);
  std::vector<std::byte> data_ = std::vector<std::byte>(300, std::byte{7});

  std::int64_t add(BlockWriter& filled, std::uint64_t file, std::int64_t offset, std::int64_t bytes,
                   std::int64_t skipped = 0) {
    const storage::Slice slice{data_.data(), bytes};
    return filled.add(file, offset, {&slice, 1}, skipped);
  }
};

TEST_F(FilledBlocks, HoldExtentsThatFollowEachOtherAsOne) {
  BlockWriter filled(block_);
  EXPECT_EQ(add(filled, 1, 100, 10), 10);
  EXPECT_EQ(add(filled, 1, 110, 5), 5);
  EXPECT_EQ(add(filled, 2, 115, 5), 5);
  const auto extents = extents_of(block_, filled.extents());
  ASSERT_TRUE(extents.ok());
  ASSERT_EQ(extents.value().size(), 2U);
  EXPECT_EQ(extents.value()[0].bytes, 15);
  EXPECT_EQ(extents.value()[1].file, 2U);
}

TEST_F(FilledBlocks, TakeAsMuchAsHasRoom) {
  BlockWriter filled(block_);
  EXPECT_EQ(add(filled, 1, 0, 300), 176);  // 200 bytes without one extent
  EXPECT_EQ(add(filled, 1, 0, 300, 176), 0);
  EXPECT_EQ(extents_of(block_, 1).value().front().bytes, 176);
}

TEST_F(FilledBlocks, TakeNothingWhereAnExtentHasNoRoom) {
  BlockWriter filled(block_);
  EXPECT_EQ(add(filled, 1, 0, 152), 152);  // 24 bytes are left: room for an extent without bytes
  EXPECT_EQ(add(filled, 1, 1000, 1), 0);
  EXPECT_EQ(add(filled, 1, 152, 1), 1);  // continues the extent
  EXPECT_EQ(extents_of(block_, 1).value().front().bytes, 153);
}

TEST_F(FilledBlocks, HoldTheSameBytesPastTheCaches) {
  std::vector<std::byte> data(5000);
  std::mt19937 random(3);
  for (std::byte& one : data) one = static_cast<std::byte>(random());
  std::vector<std::vector<std::byte>> blocks(2, std::vector<std::byte>(16 << 10));
  std::vector<std::int64_t> taken;
  for (const auto target : {BlockWriter::Target::cached, BlockWriter::Target::streamed}) {
    BlockWriter filled(blocks[target == BlockWriter::Target::cached ? 0 : 1], target);
    std::int64_t offset = 0;
    for (const std::int64_t bytes : {8, 511, 512, 1024, 1001, 3, 4096, 2048, 640, 5000, 5000}) {
      const std::int64_t first = bytes / 3;
      const std::vector<storage::Slice> slices = {{data.data(), first},
                                                  {data.data() + first, bytes - first}};
      taken.push_back(filled.add(1, offset, slices, bytes % 5));
      offset += 2 * bytes;
    }
    array::end_streaming();
  }
  const std::size_t half = taken.size() / 2;
  EXPECT_TRUE(std::equal(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(half),
                         taken.begin() + static_cast<std::ptrdiff_t>(half)));
  EXPECT_EQ(taken.back(), 1319) << "the block ends within the last piece";
  EXPECT_EQ(blocks[0], blocks[1]);
}

TEST_F(FilledBlocks, ImpossibleExtentsAreRefused) {
  BlockWriter filled(block_);
  EXPECT_EQ(add(filled, 1, 0, 176), 176);
  EXPECT_TRUE(extents_of(block_, 1).ok());
  EXPECT_FALSE(extents_of(block_, 0).ok());
  EXPECT_FALSE(extents_of(block_, -1).ok());
  EXPECT_FALSE(extents_of(block_, 2).ok());  // their bytes are more than there are
  EXPECT_FALSE(extents_of(block_, 9).ok());  // more than the block has room for
  const auto set = [&](std::size_t at, std::int64_t number) {
    std::memcpy(block_.data() + size - 24 + at, &number, sizeof number);
  };
  set(16, 177);
  EXPECT_FALSE(extents_of(block_, 1).ok());
  set(16, 0);
  EXPECT_FALSE(extents_of(block_, 1).ok());
  set(16, 176);
  set(8, -1);
  EXPECT_FALSE(extents_of(block_, 1).ok());
  set(8, std::numeric_limits<std::int64_t>::max() - 175);
  EXPECT_FALSE(extents_of(block_, 1).ok());
  set(8, std::numeric_limits<std::int64_t>::max() - 176);
  EXPECT_TRUE(extents_of(block_, 1).ok());
}

}  // namespace
}  // namespace weir::transport
