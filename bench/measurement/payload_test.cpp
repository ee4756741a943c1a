#include "measurement/payload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "measurement/payload_words.hpp"

namespace weir::bench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t page_words = payload_page_words;
constexpr std::uint64_t file_words = 64 * page_words;

using Words = std::vector<std::uint64_t>;

PayloadStream stream_of(int compressible_percent, std::uint32_t generation = 1) {
  return {.seed = 0x5eed,
          .file = 3,
          .generation = generation,
          .compressible_percent = compressible_percent};
}

Words made(const PayloadStream& stream, std::uint64_t first, std::uint64_t count) {
  Words words(count);
  fill_payload(stream, first, words);
  return words;
}

// Puts the words that `stream` has from `source` on at `at` of `words`.
void plant(Words& words, std::uint64_t at, const PayloadStream& stream, std::uint64_t source,
           std::uint64_t count) {
  fill_payload(stream, source, std::span(words).subspan(at, count));
}

TEST(PayloadWordsTest, MixingCanBeUndone) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t word = random();
    ASSERT_EQ(unmix(mix(word)), word);
    ASSERT_EQ(mix(unmix(word)), word);
  }
  EXPECT_EQ(unmix(mix(0)), 0U);
  // SplitMix64 with state 0 gives this first (Vigna's reference implementation): golden mixed.
  EXPECT_EQ(mix(0x9e3779b97f4a7c15U), 0xe220a8397b1dcdafU);
}

TEST(PayloadWordsTest, AWordTellsItsPosition) {
  const PayloadPattern pattern(stream_of(0));
  for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{511},
                                       std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    EXPECT_EQ(pattern.position_made_for(pattern.word_at(position)), position);
  }
}

class PayloadTest : public testing::TestWithParam<int> {
 protected:
  PayloadStream stream_ = stream_of(GetParam());

  [[nodiscard]] std::vector<PayloadMismatch> check(std::uint64_t first, const Words& words,
                                                   std::span<const PayloadStream> earlier = {},
                                                   std::size_t most = 8) const {
    return check_payload(stream_, first, words, earlier, file_words, most);
  }
};

// Whatever range is asked for, unaligned or long, its words are those of single positions.
TEST_P(PayloadTest, EveryWordIsAFunctionOfItsPosition) {
  const PayloadPattern pattern(stream_);
  for (const std::uint64_t first : {0U, 1U, 500U, 511U, 512U, 1000U}) {
    for (const std::uint64_t count : {1U, 7U, 8U, 511U, 512U, 513U, 3000U}) {
      const Words words = made(stream_, first, count);
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(words[i], pattern.word_at(first + i)) << first << " + " << i;
      }
      ASSERT_THAT(check(first, words), IsEmpty());
    }
  }
}

TEST_P(PayloadTest, SeedFileAndGenerationEachChangeTheWords) {
  const Words words = made(stream_, 0, 600);
  for (const auto& change : std::vector<std::function<void(PayloadStream&)>>{
           [](PayloadStream& s) { ++s.seed; }, [](PayloadStream& s) { ++s.file; },
           [](PayloadStream& s) { ++s.generation; }}) {
    PayloadStream other = stream_;
    change(other);
    const Words others = made(other, 0, 600);
    for (std::size_t i = 0; i < words.size(); ++i) ASSERT_NE(words[i], others[i]);
  }
}

TEST_P(PayloadTest, APageRepeatsTheShareAskedFor) {
  const Words words = made(stream_, 0, 4 * page_words);
  for (std::uint64_t page = 0; page < 4; ++page) {
    const std::span<const std::uint64_t> of_page =
        std::span(words).subspan(page * page_words, page_words);
    const auto repeats = std::count(of_page.begin() + 1, of_page.end(), of_page.front());
    const auto asked = static_cast<std::int64_t>(page_words) * GetParam() / 100;
    EXPECT_EQ(repeats, std::min<std::int64_t>(asked, page_words - 1));
    EXPECT_THAT(std::set<std::uint64_t>(of_page.begin(), of_page.end()),
                SizeIs(page_words - static_cast<std::uint64_t>(repeats)));
  }
}

// What is not repeated looks random: its bytes are evenly spread, so a compressor finds nothing.
TEST_P(PayloadTest, WhatIsNotRepeatedHasTheEntropyOfRandomBytes) {
  const PayloadPattern pattern(stream_);
  std::array<double, 256> counts{};
  double total = 0;
  for (std::uint64_t position = 0; total < 1 << 20; ++position) {
    if (pattern.source_of(position) != position) continue;
    std::uint64_t word = pattern.word_at(position);
    for (int byte = 0; byte < 8; ++byte, word >>= 8) {
      ++counts[word & 0xffU];
      ++total;
    }
  }
  // Pearson's statistic over 256 byte values: 255 degrees of freedom, standard deviation 22.6.
  double statistic = 0;
  for (const double count : counts) {
    statistic += (count - total / 256) * (count - total / 256) / (total / 256);
  }
  EXPECT_LT(statistic, 255 + 5 * 22.6);
}

TEST_P(PayloadTest, AFlippedBitIsFoundWhereverItIs) {
  constexpr std::uint64_t first = 700;
  constexpr std::uint64_t count = 2000;
  const Words right = made(stream_, first, count);
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{323}, std::uint64_t{324},
                                 std::uint64_t{835}, std::uint64_t{836}, count - 1}) {
    for (const unsigned bit : {0U, 8U, 35U, 63U}) {
      Words words = right;
      words[at] ^= std::uint64_t{1} << bit;
      const auto found = check(first, words);
      ASSERT_THAT(found, SizeIs(1));
      EXPECT_EQ(found[0].kind, PayloadErrorKind::flipped_bit);
      const unsigned byte = std::endian::native == std::endian::little ? bit / 8 : 7 - bit / 8;
      EXPECT_EQ(found[0].first_byte, (first + at) * 8 + byte);
      EXPECT_EQ(found[0].bytes_wrong, 1U);
      EXPECT_EQ(found[0].text, "bit " + std::to_string(bit % 8) + " is flipped");
    }
  }
}

TEST_P(PayloadTest, ASwappedBlockTellsWhereItBelongs) {
  constexpr std::uint64_t first = 10 * page_words;
  for (const std::uint64_t source : {std::uint64_t{0}, 9 * page_words, 63 * page_words}) {
    Words words = made(stream_, first, 5 * page_words);
    plant(words, 2 * page_words, stream_, source, page_words);
    const auto found = check(first, words);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].kind, PayloadErrorKind::swapped_block);
    EXPECT_EQ(found[0].first_byte, (first + 2 * page_words) * 8);
    EXPECT_EQ(found[0].bytes_wrong, page_words * 8);
    EXPECT_EQ(found[0].text, "the data belongs at offset " + std::to_string(source * 8));
  }
}

// Two pages that changed places are two errors, each pointing at the other's place.
TEST_P(PayloadTest, TwoNeighboursThatChangedPlacesAreTwoErrors) {
  Words words = made(stream_, 0, 4 * page_words);
  plant(words, page_words, stream_, 2 * page_words, page_words);
  plant(words, 2 * page_words, stream_, page_words, page_words);
  const auto found = check(0, words);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].text, "the data belongs at offset 8192");
  EXPECT_EQ(found[0].first_byte, 4096U);
  EXPECT_EQ(found[0].bytes_wrong, 4096U);
  EXPECT_EQ(found[1].text, "the data belongs at offset 4096");
  EXPECT_EQ(found[1].first_byte, 8192U);
}

// Repeated words stay right under a shift within their page, so there it leaves several runs.
TEST_P(PayloadTest, AShiftIsFollowedOverPageBoundaries) {
  constexpr std::uint64_t shift = 100;
  const auto found = check(0, made(stream_, shift, 3 * page_words));
  const std::map<int, std::size_t> runs = {{0, 1}, {50, 4}, {100, 3}};
  ASSERT_THAT(found, SizeIs(runs.at(GetParam())));
  for (const PayloadMismatch& mismatch : found) {
    EXPECT_EQ(mismatch.kind, PayloadErrorKind::swapped_block);
    EXPECT_EQ(mismatch.text,
              "the data belongs at offset " + std::to_string(mismatch.first_byte + shift * 8));
  }
}

TEST_P(PayloadTest, DataOfAnEarlierGenerationTellWhich) {
  const std::vector<PayloadStream> earlier = {stream_of(GetParam(), 7), stream_of(GetParam(), 8)};
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{333}}) {
    Words words = made(stream_, first, 3 * page_words);
    plant(words, 400, earlier[1], first + 400, 600);
    const auto found = check(first, words, earlier);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].kind, PayloadErrorKind::stale_data);
    EXPECT_EQ(found[0].first_byte, (first + 400) * 8);
    EXPECT_EQ(found[0].bytes_wrong, 600U * 8);
    EXPECT_EQ(found[0].text, "data of generation 8");
  }
}

TEST_P(PayloadTest, EarlierDataOfAnotherPlaceOrFileTellWhose) {
  PayloadStream other = stream_of(GetParam(), 0);
  other.file = 5;
  Words words = made(stream_, 0, 2 * page_words);
  plant(words, page_words, other, 8 * page_words, page_words);
  const auto found = check(0, words, std::vector{other});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, PayloadErrorKind::stale_data);
  EXPECT_EQ(found[0].text, "data of generation 0 of file 5, made for offset 32768");
}

TEST_P(PayloadTest, DataOfAnotherRunAreRecognisedByTheirPattern) {
  PayloadStream other = stream_;
  other.seed = 0xd1ff;
  Words words = made(stream_, 0, 10 * page_words);
  plant(words, 2 * page_words, other, 2 * page_words, 6 * page_words);
  const auto found = check(0, words);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, PayloadErrorKind::stale_data);
  EXPECT_EQ(found[0].first_byte, 2 * page_words * 8);
  EXPECT_EQ(found[0].bytes_wrong, 6 * page_words * 8);
  EXPECT_THAT(found[0].text, HasSubstr("another run"));
}

TEST_P(PayloadTest, ZerosAreNamed) {
  Words words = made(stream_, 40, 3 * page_words);
  std::fill_n(words.begin() + 100, 700, 0);
  const auto found = check(40, words);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, PayloadErrorKind::zeros);
  EXPECT_EQ(found[0].first_byte, 140U * 8);
  EXPECT_EQ(found[0].bytes_wrong, 700U * 8);
  EXPECT_THAT(found[0].text, HasSubstr("never written"));
}

TEST_P(PayloadTest, OtherDataAreForeignToTheByte) {
  Words words = made(stream_, 0, 3 * page_words);
  std::memset(reinterpret_cast<char*>(words.data()) + 1003, 'q', 2001);
  const auto found = check(0, words);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, PayloadErrorKind::foreign);
  // A byte at either end may happen to be a 'q' already.
  EXPECT_GE(found[0].first_byte, 1003U);
  EXPECT_LE(found[0].first_byte, 1005U);
  EXPECT_GE(found[0].first_byte + found[0].bytes_wrong, 3002U);
  EXPECT_LE(found[0].first_byte + found[0].bytes_wrong, 3004U);
}

TEST_P(PayloadTest, ErrorsThatTouchAreToldApart) {
  const std::vector<PayloadStream> earlier = {stream_of(GetParam(), 0)};
  Words words = made(stream_, 0, 8 * page_words);
  std::fill_n(words.begin() + page_words, page_words, 0);
  plant(words, 2 * page_words, stream_, 40 * page_words, page_words);
  plant(words, 3 * page_words, earlier[0], 3 * page_words, page_words);
  std::memset(&words[4 * page_words], 0xa5, page_words * 8);
  words[6 * page_words] ^= 1;
  words[8 * page_words - 1] ^= 2;
  const auto found = check(0, words, earlier);
  ASSERT_THAT(found, SizeIs(6));
  EXPECT_EQ(found[0].kind, PayloadErrorKind::zeros);
  EXPECT_EQ(found[1].kind, PayloadErrorKind::swapped_block);
  EXPECT_EQ(found[2].kind, PayloadErrorKind::stale_data);
  EXPECT_EQ(found[3].kind, PayloadErrorKind::foreign);
  EXPECT_EQ(found[4].kind, PayloadErrorKind::flipped_bit);
  EXPECT_EQ(found[5].kind, PayloadErrorKind::flipped_bit);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found[i].first_byte, (i + 1) * 4096);
    EXPECT_EQ(found[i].bytes_wrong, 4096U);
  }
}

TEST_P(PayloadTest, TheLastErrorToldCountsAllThatFollow) {
  Words words = made(stream_, 0, 4 * page_words);
  for (const std::size_t at : {5U, 700U, 701U, 1500U}) words[at] ^= 1;
  ASSERT_THAT(check(0, words), SizeIs(4));
  const auto two = check(0, words, {}, 2);
  ASSERT_THAT(two, SizeIs(2));
  EXPECT_EQ(two[0].bytes_wrong, 1U);
  EXPECT_EQ(two[1].bytes_wrong, 1U + 2 * 8);
  EXPECT_THAT(check(0, words, {}, 0), SizeIs(1));
}

TEST_P(PayloadTest, PositionsBehindTheFileExplainNothing) {
  Words words = made(stream_, 0, page_words);
  const PayloadPattern pattern(stream_);
  words[17] = pattern.word_at(file_words);
  const auto found = check(0, words);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, PayloadErrorKind::foreign);
}

INSTANTIATE_TEST_SUITE_P(Compressible, PayloadTest, testing::Values(0, 50, 100),
                         [](const auto& percent) { return std::to_string(percent.param); });

TEST(PayloadErrorKindTest, NamesAreThoseOfTheResult) {
  EXPECT_STREQ(name_of(PayloadErrorKind::flipped_bit), "flipped_bit");
  EXPECT_STREQ(name_of(PayloadErrorKind::swapped_block), "swapped_block");
  EXPECT_STREQ(name_of(PayloadErrorKind::stale_data), "stale_data");
  EXPECT_STREQ(name_of(PayloadErrorKind::zeros), "zeros");
  EXPECT_STREQ(name_of(PayloadErrorKind::foreign), "foreign");
}

}  // namespace
}  // namespace weir::bench
