#include "interfaces/element_payload.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace weir::bench {
namespace {

constexpr PayloadStream stream{.seed = 5, .file = 0, .generation = 3, .compressible_percent = 0};

std::vector<array::StridedCopy> one_run(std::int64_t to, std::int64_t bytes) {
  return {{.from_offset = 0, .to_offset = to, .bytes = bytes, .levels = {}}};
}

std::vector<std::byte> made(const array::ElementType& type, std::int64_t to, std::int64_t bytes) {
  std::vector<std::byte> memory(static_cast<std::size_t>(bytes));
  ElementPayload(stream, type, 1 << 20).fill(one_run(to, bytes), memory.data());
  return memory;
}

TEST(ElementPayload, IsAFunctionOfThePlaceAlone) {
  const array::ElementType type(array::ElementKind::int16);
  const auto all = made(type, 0, 9000);
  for (const std::int64_t first : {2, 8, 4094, 4096, 5002}) {
    const auto part = made(type, first, 3000);
    EXPECT_EQ(std::memcmp(part.data(), all.data() + first, part.size()), 0) << first;
  }
}

TEST(ElementPayload, BooleansAreZeroOrOne) {
  int ones = 0;
  for (const std::byte b : made(array::ElementKind::boolean, 3, 1000)) {
    EXPECT_LE(std::to_integer<int>(b), 1);
    ones += std::to_integer<int>(b);
  }
  EXPECT_GT(ones, 100);
  EXPECT_LT(ones, 900);
}

TEST(ElementPayload, RightDataAreRight) {
  for (const auto kind :
       {array::ElementKind::uint8, array::ElementKind::float64, array::ElementKind::boolean}) {
    const ElementPayload payload(stream, kind, 1 << 20);
    const auto memory = made(kind, 16, 9000);
    EXPECT_FALSE(payload.check(one_run(16, 9000), memory.data(), {}));
  }
}

TEST(ElementPayload, ExplainsWhatIsWrong) {
  const array::ElementType type(array::ElementKind::float64);
  const ElementPayload payload(stream, type, 1 << 20);
  auto memory = made(type, 0, 8192);
  memory[5000] ^= std::byte{4};
  const auto flipped = payload.check(one_run(0, 8192), memory.data(), {});
  ASSERT_TRUE(flipped);
  EXPECT_EQ(flipped->kind, PayloadErrorKind::flipped_bit);
  EXPECT_EQ(flipped->first_byte / 8, 5000U / 8);

  memory = made(type, 0, 8192);
  std::memset(memory.data() + 4096, 0, 4096);
  const auto zeros = payload.check(one_run(0, 8192), memory.data(), {});
  ASSERT_TRUE(zeros);
  EXPECT_EQ(zeros->kind, PayloadErrorKind::zeros);
  EXPECT_EQ(zeros->first_byte, 4096U);

  PayloadStream before = stream;
  before.generation = 2;
  memory.assign(8192, std::byte{0});
  ElementPayload(before, type, 1 << 20).fill(one_run(0, 8192), memory.data());
  const auto stale = payload.check(one_run(0, 8192), memory.data(), {before});
  ASSERT_TRUE(stale);
  EXPECT_EQ(stale->kind, PayloadErrorKind::stale_data);
}

TEST(ElementPayload, FindsAWrongByteOfAnyElement) {
  for (const auto kind : {array::ElementKind::uint8, array::ElementKind::int16,
                          array::ElementKind::boolean, array::ElementKind::complex128}) {
    const ElementPayload payload(stream, kind, 1 << 20);
    for (const std::size_t place : {std::size_t{0}, std::size_t{4095}, std::size_t{7999}}) {
      auto memory = made(kind, 32, 8000);
      memory[place] ^= std::byte{1};
      const auto wrong = payload.check(one_run(32, 8000), memory.data(), {});
      ASSERT_TRUE(wrong) << place;
      EXPECT_LE(wrong->first_byte, 32 + place);
      EXPECT_GT(wrong->first_byte + 8, 32 + place);
    }
  }
}

}  // namespace
}  // namespace weir::bench
