#include "array/fill.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::array {
namespace {

std::vector<int> numbers_of(const std::vector<std::byte>& data) {
  std::vector<int> numbers;
  numbers.reserve(data.size());
  for (const std::byte one : data) numbers.push_back(static_cast<int>(one));
  return numbers;
}

std::vector<int> filled(std::int64_t bytes, const std::vector<std::byte>& element) {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes) + 1, std::byte{9});
  fill_elements(data.data(), bytes, element);
  return numbers_of(data);
}

TEST(FillElements, RepeatsTheElementToTheLastByteAndNotBeyond) {
  const std::vector<std::byte> element = {std::byte{1}, std::byte{2}};
  EXPECT_EQ(filled(2, element), (std::vector<int>{1, 2, 9}));
  EXPECT_EQ(filled(6, element), (std::vector<int>{1, 2, 1, 2, 1, 2, 9}));
  EXPECT_EQ(filled(10, element), (std::vector<int>{1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 9}));
}

TEST(FillElements, AreZeroWithoutAnElement) {
  EXPECT_EQ(filled(3, {}), (std::vector<int>{0, 0, 0, 9}));
  EXPECT_EQ(filled(1, {std::byte{1}, std::byte{2}}), (std::vector<int>{0, 9}));
}

TEST(FillTarget, FillsTheRunsAndNothingBetweenThem) {
  StridedCopy copy;
  copy.to_offset = 1;
  copy.bytes = 2;
  copy.levels.push_back({2, 0, 5});
  copy.levels.push_back({2, 0, 3});
  std::vector<std::byte> data(12, std::byte{9});
  fill_target(copy, data.data(), std::vector<std::byte>{std::byte{7}});
  EXPECT_EQ(numbers_of(data), (std::vector<int>{9, 7, 7, 9, 7, 7, 7, 7, 9, 7, 7, 9}));
}

}  // namespace
}  // namespace weir::array
