// Byte swapping and CRC-32C: known answers, and agreement of the fast ways with the plain ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "array/byte_swap.hpp"
#include "common/crc32c.hpp"

namespace weir::storage {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::uint64_t state = 1;
  for (std::byte& one : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    one = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(ByteSwap, ReversesEachNumberAtEveryLengthAndOffset) {
  for (const std::int64_t number : {1, 2, 4, 8}) {
    for (std::int64_t numbers = 0; numbers < 100; ++numbers) {
      const auto from = some_bytes(static_cast<std::size_t>(number * numbers) + 3);
      auto expected = from;
      for (std::int64_t i = 0; i < numbers; ++i) {
        std::reverse(expected.begin() + 3 + i * number, expected.begin() + 3 + (i + 1) * number);
      }
      auto copied = std::vector<std::byte>(from.size());
      std::copy_n(from.begin(), 3, copied.begin());
      array::copy_swapped(from.data() + 3, copied.data() + 3, number * numbers, number);
      EXPECT_EQ(copied, expected) << number << " " << numbers;
      auto in_place = from;
      array::copy_swapped(in_place.data() + 3, in_place.data() + 3, number * numbers, number);
      EXPECT_EQ(in_place, expected) << number << " " << numbers;
    }
  }
}

TEST(Crc32c, HasTheAnswersOfTheStandard) {
  EXPECT_EQ(crc32c({}), 0U);
  EXPECT_EQ(crc32c(bytes_of_text("123456789")), 0xE3069283U);
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::vector<std::byte>(32)), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xFF})), 0x62A8AB43U);
}

TEST(Crc32c, IsTheSameBySeveralStreamsAndByTheTable) {
  const auto bytes = some_bytes(40000);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t length :
       std::vector<std::size_t>{0, 1, 7, 8, 9, 255, 256, 257, 511, 512, 775, 4095, 4096, 12287,
                                12288, 12289, 24576, 39990}) {
    for (const std::size_t offset : std::vector<std::size_t>{0, 1, 5}) {
      const auto part = all.subspan(offset, length);
      EXPECT_EQ(crc32c(part), crc32c_by_table(part)) << length;
      EXPECT_EQ(crc32c(part, 0x12345678U), crc32c_by_table(part, 0x12345678U)) << length;
    }
  }
}

TEST(Crc32c, OfPartsGivesThatOfTheWhole) {
  const auto bytes = some_bytes(30000);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t cut : std::vector<std::size_t>{0, 1, 100, 12288, 29999, 30000}) {
    const std::uint32_t first = crc32c(all.first(cut));
    EXPECT_EQ(crc32c(all.subspan(cut), first), crc32c(all));
    EXPECT_EQ(crc32c_combined(first, crc32c(all.subspan(cut)),
                              static_cast<std::int64_t>(all.size() - cut)),
              crc32c(all));
  }
}

}  // namespace
}  // namespace weir::storage
