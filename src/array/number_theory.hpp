// The integer arithmetic behind periodic index sets.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::array {

// The remainder in [0, modulus); modulus > 0.
[[nodiscard]] constexpr std::int64_t positive_modulo(std::int64_t value, std::int64_t modulus) {
  const std::int64_t remainder = value % modulus;
  return remainder < 0 ? remainder + modulus : remainder;
}

// The quotient rounded up; value >= 0, divisor > 0.
[[nodiscard]] constexpr std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

// a × b mod modulus without overflow; modulus > 0.
[[nodiscard]] std::int64_t multiply_modulo(std::int64_t a, std::int64_t b, std::int64_t modulus);

// The x in [0, modulus) with a × x ≡ 1; a and modulus have no common divisor. 0 for modulus 1.
[[nodiscard]] std::int64_t inverse_modulo(std::int64_t a, std::int64_t modulus);

// The least x >= 0 with first <= step × x mod modulus <= last, where 0 <= first <= last < modulus
// and step >= 0; nothing when there is none. Euclid's algorithm: O(log modulus) steps.
[[nodiscard]] std::optional<std::int64_t> first_in_range(std::int64_t step, std::int64_t modulus,
                                                         std::int64_t first, std::int64_t last);

}  // namespace weir::array
