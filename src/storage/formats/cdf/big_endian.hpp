// Numbers of a file that has the most significant byte first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace weir::storage {

template <typename Number>
void append_big_endian(std::vector<std::byte>& bytes, Number number) {
  std::array<std::byte, sizeof(Number)> one{};
  std::memcpy(one.data(), &number, sizeof(Number));
  bytes.insert(bytes.end(), one.rbegin(), one.rend());
}

// `from` has at least as many bytes as the number.
template <typename Number>
[[nodiscard]] Number big_endian_at(const std::byte* from) {
  std::array<std::byte, sizeof(Number)> one{};
  std::reverse_copy(from, from + sizeof(Number), one.begin());
  Number number{};
  std::memcpy(&number, one.data(), sizeof(Number));
  return number;
}

inline void pad_to_four(std::vector<std::byte>& bytes) {
  while (bytes.size() % 4 != 0) bytes.push_back(std::byte{0});
}

}  // namespace weir::storage
