// Headers and checksums of pieces that go over UCX.
#include "transport/ucx_piece.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weir::transport {
namespace {

UcxPiece some_piece() {
  UcxPiece piece{.block = std::numeric_limits<std::int64_t>::max(),
                 .at_end = true,
                 .before = 1000,
                 .total = 3000,
                 .checksum = 0xfedcba98};
  for (std::size_t i = 0; i < piece.token.size(); ++i) piece.token[i] = static_cast<std::byte>(i);
  return piece;
}

TEST(UcxPiece, IsReadAsItWasWritten) {
  const UcxPiece piece = some_piece();
  const auto read = piece_of(header_of(piece));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->token, piece.token);
  EXPECT_EQ(read->block, piece.block);
  EXPECT_EQ(read->at_end, piece.at_end);
  EXPECT_EQ(read->before, piece.before);
  EXPECT_EQ(read->total, piece.total);
  EXPECT_EQ(read->checksum, piece.checksum);
}

TEST(UcxPiece, IsNothingElse) {
  UcxHeader header = header_of(some_piece());
  std::vector<std::byte> longer(header.begin(), header.end());
  longer.emplace_back();
  EXPECT_FALSE(piece_of(longer));
  EXPECT_FALSE(piece_of(std::span(header).first(header.size() - 1)));
  EXPECT_FALSE(piece_of({}));
  header[24] = std::byte{2};  // `at_end` is 0 or 1
  EXPECT_FALSE(piece_of(header));
}

// The checksum covers each bit of the header but its own, and each bit of the bytes.
TEST(UcxPiece, ChecksumTellsEachBitThatDiffers) {
  const UcxPiece piece = some_piece();
  std::vector<std::byte> bytes(100, std::byte{7});
  const std::uint32_t right = checksum_of(piece, bytes);
  const UcxHeader header = header_of(piece);
  int compared = 0;
  for (std::size_t bit = 0; bit < header.size() * 8; ++bit) {
    UcxHeader other = header;
    other[bit / 8] ^= std::byte{1} << bit % 8;
    const auto read = piece_of(other);
    if (!read) continue;
    const bool is_of_checksum = bit / 8 >= header.size() - sizeof piece.checksum;
    EXPECT_EQ(checksum_of(*read, bytes) == right, is_of_checksum) << bit;
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<int>(header.size() * 8 - 7)) << "7 bits make no header";
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_NE(checksum_of(piece, bytes), right) << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
}

}  // namespace
}  // namespace weir::transport
