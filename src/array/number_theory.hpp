// The integer arithmetic of periodic index sets.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::array {

// Returns the remainder in [0, modulus); modulus > 0.
[[nodiscard]] constexpr std::int64_t positive_modulo(std::int64_t value, std::int64_t modulus) {
  const std::int64_t remainder = value % modulus;
  return remainder < 0 ? remainder + modulus : remainder;
}

// Returns the quotient rounded up; value >= 0, divisor > 0.
[[nodiscard]] constexpr std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

// Returns a × b mod modulus without overflow; modulus > 0.
[[nodiscard]] std::int64_t multiply_modulo(std::int64_t a, std::int64_t b, std::int64_t modulus);

// Returns the x in [0, modulus) with a × x ≡ 1 modulo `modulus`, or 0 if modulus is 1. a and
// modulus have no common divisor.
[[nodiscard]] std::int64_t inverse_modulo(std::int64_t a, std::int64_t modulus);

// Returns the least x >= 0 with first <= step × x mod modulus <= last, where 0 <= first <= last <
// modulus and step >= 0, or nothing if there is none. Euclid's algorithm takes O(log modulus)
// steps.
[[nodiscard]] std::optional<std::int64_t> first_in_range(std::int64_t step, std::int64_t modulus,
                                                         std::int64_t first, std::int64_t last);

}  // namespace weir::array
