#include "workloads/madbench/full/fingerprints.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace weir::bench::madbench {
namespace {

constexpr std::size_t blocks = 5;
constexpr std::size_t odd_words = 100;  // the last block is short

std::vector<std::uint64_t> numbers(std::uint64_t start) {
  std::vector<std::uint64_t> words(blocks * fingerprint_words + odd_words);
  for (std::uint64_t& word : words) word = start = start * 6364136223846793005U + 1;
  return words;
}

class NotedMatrix : public testing::Test {
 protected:
  void SetUp() override {
    fingerprints_.note(Function::S, 3, 8192, words_);
    fingerprints_.note(Function::W, 0, 0, numbers(77));
  }
  std::vector<std::uint64_t> words_ = numbers(5);
  Fingerprints fingerprints_;
};

TEST_F(NotedMatrix, IsRightWhenUnchanged) {
  EXPECT_TRUE(fingerprints_.compare(Function::S, 3, words_).empty());
}

TEST_F(NotedMatrix, EverySingleFlippedBitIsFound) {
  for (const std::size_t word : {std::size_t{0}, std::size_t{513}, words_.size() - 1}) {
    for (int bit = 0; bit < 64; ++bit) {
      std::vector<std::uint64_t> wrong = words_;
      wrong[word] ^= std::uint64_t{1} << bit;
      const auto found = fingerprints_.compare(Function::S, 3, wrong);
      ASSERT_EQ(found.size(), 1U) << "word " << word << " bit " << bit;
      EXPECT_EQ(found[0].kind, PayloadErrorKind::foreign);
      EXPECT_EQ(found[0].first_byte, 8192 + word / fingerprint_words * 4096);
    }
  }
}

TEST_F(NotedMatrix, ZerosOverSeveralBlocksAreOneFinding) {
  std::vector<std::uint64_t> wrong = words_;
  std::fill(wrong.begin() + 512, wrong.begin() + 3 * 512, 0);
  const auto found = fingerprints_.compare(Function::S, 3, wrong);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, PayloadErrorKind::zeros);
  EXPECT_EQ(found[0].first_byte, 8192U + 4096U);
  EXPECT_EQ(found[0].bytes_wrong, 2 * 4096U);
}

TEST_F(NotedMatrix, SwappedBlocksSayWhereTheyBelong) {
  std::vector<std::uint64_t> wrong = words_;
  std::swap_ranges(wrong.begin(), wrong.begin() + 512, wrong.begin() + 1024);
  const auto found = fingerprints_.compare(Function::S, 3, wrong);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, PayloadErrorKind::swapped_block);
  EXPECT_EQ(found[0].text, "the data belongs at offset 16384");
  EXPECT_EQ(found[1].text, "the data belongs at offset 8192");
}

TEST_F(NotedMatrix, WhatAnotherFunctionWroteIsStale) {
  const auto found = fingerprints_.compare(Function::S, 3, numbers(77));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, PayloadErrorKind::stale_data);
}

TEST_F(NotedMatrix, FindingsBeyondTheMostAreCountedInTheLast) {
  std::vector<std::uint64_t> wrong = words_;
  for (std::size_t block = 0; block < blocks; block += 2) wrong[block * fingerprint_words] ^= 1;
  const auto found = fingerprints_.compare(Function::S, 3, wrong, 2);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].bytes_wrong, 2 * 4096U);
}

}  // namespace
}  // namespace weir::bench::madbench
