// Functions that read and write numbers in byte arrays, in the order of memory (little-endian) and
// in big-endian order. The caller ensures that a number lies inside the bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace weir::storage {

template <typename Number>
[[nodiscard]] Number number_at(std::span<const std::byte> from, std::size_t at = 0) {
  Number number;
  std::memcpy(&number, from.data() + at, sizeof number);
  return number;
}

template <typename Number>
void put_number(std::span<std::byte> to, std::size_t at, Number number) {
  std::memcpy(to.data() + at, &number, sizeof number);
}

template <typename Number>
[[nodiscard]] std::array<std::byte, sizeof(Number)> big_endian(Number number) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(Number)>>(number);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

template <typename Number>
[[nodiscard]] Number big_endian_at(std::span<const std::byte> from, std::size_t at = 0) {
  return number_at<Number>(big_endian(number_at<Number>(from, at)));
}

template <typename Number>
void append_big_endian(std::vector<std::byte>& bytes, Number number) {
  const auto one = big_endian(number);
  bytes.insert(bytes.end(), one.begin(), one.end());
}

}  // namespace weir::storage
