#include "transport/carrier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <variant>
#include <vector>

namespace weir::transport {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{200} << 10;

// Fills a block as a rank does; some blocks have many extents.
void fill(BlockWriter& filled, std::mt19937& random, std::vector<std::byte>& data) {
  for (std::byte& one : data) one = static_cast<std::byte>(random());
  const std::int64_t longest = random() % 2 == 0 ? 1 : 100'000;
  for (std::int64_t offset = 0; random() % 20'000 != 0; offset += longest + 1) {
    const storage::Slice slice{data.data(), 1 + static_cast<std::int64_t>(random()) % longest};
    if (filled.add(1 + random() % 3, offset, {&slice, 1}, 0) == 0) return;
  }
}

TEST(Carriers, MessagesBringWhatSharedMemoryHas) {
  std::mt19937 random(1);
  std::vector<std::byte> data(100'000);
  for (int i = 0; i < 30; ++i) {
    // Does with BlockBytes what the stager does (stager.cpp), behind a block of another program.
    std::vector<std::byte> arrived(block_bytes, std::byte{0x55});
    std::int64_t begin = 0;
    std::int64_t end = 0;
    const auto carrier = make_message_carrier(
        {.blocks = 8, .block_bytes = block_bytes, .stager = "s"}, [&](const Message& message) {
          const auto& piece = std::get<BlockBytes>(message);
          EXPECT_EQ(piece.block, 5);
          const std::int64_t bytes = std::ssize(piece.bytes);
          std::int64_t& part = piece.at_end ? end : begin;
          const std::int64_t at = piece.at_end ? block_bytes - part - bytes : part;
          EXPECT_GE(at, 0);
          EXPECT_LE(at + bytes, block_bytes);
          std::ranges::copy(piece.bytes, arrived.begin() + at);
          part += bytes;
          return Status();
        });
    const std::span<std::byte> block = carrier->begin(5);
    ASSERT_EQ(std::ssize(block), block_bytes);
    BlockWriter filled(block);
    fill(filled, random, data);
    if (filled.extents() == 0) continue;
    ASSERT_TRUE(carrier->bring(5, filled).ok());
    const auto sent = extents_of(block, filled.extents());
    const auto got = extents_of(arrived, filled.extents());
    ASSERT_TRUE(sent.ok());
    ASSERT_TRUE(got.ok());
    std::int64_t at = 0;
    for (std::size_t n = 0; n < sent.value().size(); ++n) {
      EXPECT_EQ(got.value()[n].file, sent.value()[n].file);
      EXPECT_EQ(got.value()[n].offset, sent.value()[n].offset);
      ASSERT_EQ(got.value()[n].bytes, sent.value()[n].bytes);
      at += got.value()[n].bytes;
    }
    EXPECT_EQ(at, begin);
    EXPECT_EQ(end, filled.extents() * extent_bytes);
    EXPECT_EQ(std::memcmp(arrived.data(), block.data(), static_cast<std::size_t>(at)), 0);
  }
}

TEST(Carriers, AMessageThatCannotBeSentIsTheError) {
  const auto carrier =
      make_message_carrier({.blocks = 1, .block_bytes = block_bytes, .stager = "s"},
                           [](const Message&) { return Status(Error(ErrorCode::io, "cut")); });
  BlockWriter filled(carrier->begin(0));
  std::byte one{};
  const storage::Slice slice{&one, 1};
  EXPECT_EQ(filled.add(1, 0, {&slice, 1}, 0), 1);
  EXPECT_FALSE(carrier->bring(0, filled).ok());
}

}  // namespace
}  // namespace weir::transport
