#include "workloads/madbench/filling.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workloads/madbench/layout.hpp"
#include "workloads/madbench/request.hpp"

namespace weir::bench::madbench {
namespace {

constexpr std::int64_t gibibyte_of_memory = std::int64_t{1} << 30;

Size on_ranks(std::int64_t ranks, std::int64_t gangs) {
  return {.no_pe = ranks,
          .no_pix = 0,
          .no_bin = 8,
          .no_gang = gangs,
          .sblocksize = 32,
          .fblocksize = 4096,
          .rmod = 1,
          .wmod = 1};
}

TEST(Filling, ReadsTheShareAndRefusesOthers) {
  EXPECT_EQ(share_to_fill("fill"), 0.75);
  EXPECT_EQ(share_to_fill("fill=0.36"), 0.36);
  EXPECT_EQ(share_to_fill("fill=0.01"), 0.01);
  EXPECT_EQ(share_to_fill("fill=0.95"), 0.95);
  for (const char* text : {"", "2000", "filled", "fill=", "fill=0.951", "fill=0.0099", "fill=-1",
                           "fill=nan", "fill=0.5x", "fill 0.5"}) {
    EXPECT_EQ(share_to_fill(text), std::nullopt) << text;
  }
}

// Table 1 of Borrill et al. has 2 GB per rank and rounds to thousands.
TEST(Filling, GivesThePixelsOfThePapersTable) {
  for (const auto& [ranks, of_the_paper] : std::vector<std::pair<std::int64_t, double>>{
           {16, 25000}, {64, 50000}, {256, 100000}, {1024, 200000}}) {
    const auto pixels = pixels_that_fill(on_ranks(ranks, 1), 0.75, 2 * gibibyte_of_memory);
    ASSERT_TRUE(pixels.ok());
    EXPECT_NEAR(static_cast<double>(pixels.value()), of_the_paper, 0.02 * of_the_paper) << ranks;
  }
}

TEST(Filling, TakesTheShareAndNotOneBlockMore) {
  constexpr std::int64_t memory = gibibyte_of_memory + 12345;
  for (const std::int64_t gangs : {1, 4}) {
    for (const double share : {0.01, 0.5, 0.95}) {
      Size size = on_ranks(16, gangs);
      const auto pixels = pixels_that_fill(size, share, memory);
      ASSERT_TRUE(pixels.ok());
      EXPECT_EQ(pixels.value() % (32 * 4), 0);
      size.no_pix = pixels.value();
      const auto needed = [&size] {
        return static_cast<double>(
            Layout::create(size, FileType::unique).value().memory_bytes_per_rank());
      };
      EXPECT_LE(needed(), share * static_cast<double>(memory));
      size.no_pix += 32 * 4;
      EXPECT_GT(needed(), share * static_cast<double>(memory));
    }
  }
}

TEST(Filling, EndsAtTheLargestMatrix) {
  Size size = on_ranks(1, 1);
  size.sblocksize = 1;
  const auto pixels = pixels_that_fill(size, 0.75, std::int64_t{1} << 62);
  ASSERT_TRUE(pixels.ok());
  EXPECT_LE(pixels.value(), most_pixels);
}

TEST(Filling, NeedsRoomForOneBlockOfEachRank) {
  // Five blocks of 32 × 32 numbers are 40,960 bytes.
  EXPECT_EQ(pixels_that_fill(on_ranks(4, 1), 0.5, 81920).value(), 64);
  const auto pixels = pixels_that_fill(on_ranks(4, 1), 0.5, 81919);
  ASSERT_FALSE(pixels.ok());
  EXPECT_NE(pixels.error().message.find("0.5 of the 81919 bytes"), std::string::npos);
}

Result<ResolvedSettings> resolved_with(const std::string& pixels) {
  constexpr Program program = {"madbench", "madbench", "", false};
  const std::vector<Setting> declared = declarations_of(program);
  const std::vector<std::string> arguments{pixels, "8", "1", "32", "4096", "1", "1"};
  return resolve_settings("madbench", "", declared, arguments,
                          [](const std::string&) { return std::nullopt; });
}

TEST(Filling, IsAskedForInPlaceOfTheNumberOfPixels) {
  const auto resolved = resolved_with("fill=0.5");
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  const auto size = size_of(resolved.value().settings, 4, [] { return std::int64_t{81920}; });
  ASSERT_TRUE(size.ok()) << size.error().message;
  EXPECT_EQ(size.value().no_pix, 64);
  EXPECT_FALSE(size_of(resolved.value().settings, 5, [] { return std::int64_t{81920}; }).ok());
  for (const char* wrong : {"fill=2", "fills", "12k", "99999999999999999999"}) {
    const auto refused = resolved_with(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_NE(refused.error().message.find("is neither a whole number from 0 to 2^63-1 nor fill"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace weir::bench::madbench
