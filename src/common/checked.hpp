// 64-bit arithmetic on sizes that reports overflow instead of wrapping.
#pragma once

#include <cstdint>
#include <optional>

namespace weir {

[[nodiscard]] inline std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

[[nodiscard]] inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// Returns the least multiple of `unit` (> 0) that is at least `value` (>= 0).
[[nodiscard]] inline std::optional<std::int64_t> checked_round_up(std::int64_t value,
                                                                  std::int64_t unit) {
  const std::int64_t units = value / unit + (value % unit != 0 ? 1 : 0);
  return checked_multiply(units, unit);
}

}  // namespace weir
