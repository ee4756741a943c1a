#include "array/number_theory.hpp"

namespace weir::array {
namespace {

__extension__ using Wide = __int128;  // holds the product of two 64-bit numbers

}  // namespace

std::int64_t multiply_modulo(std::int64_t a, std::int64_t b, std::int64_t modulus) {
  const auto product = static_cast<Wide>(positive_modulo(a, modulus)) * positive_modulo(b, modulus);
  return static_cast<std::int64_t>(product % modulus);
}

std::int64_t inverse_modulo(std::int64_t a, std::int64_t modulus) {
  // Invariant: coefficient × a ≡ remainder and next_coefficient × a ≡ next_remainder.
  std::int64_t remainder = modulus;
  std::int64_t next_remainder = positive_modulo(a, modulus);
  std::int64_t coefficient = 0;
  std::int64_t next_coefficient = 1;
  while (next_remainder > 0) {
    const std::int64_t quotient = remainder / next_remainder;
    const std::int64_t remainder_after = remainder - quotient * next_remainder;
    const std::int64_t coefficient_after = coefficient - quotient * next_coefficient;
    remainder = next_remainder;
    next_remainder = remainder_after;
    coefficient = next_coefficient;
    next_coefficient = coefficient_after;
  }
  return positive_modulo(coefficient, modulus);
}

std::optional<std::int64_t> first_in_range(std::int64_t step, std::int64_t modulus,
                                           std::int64_t first, std::int64_t last) {
  if (first == 0) return 0;
  step %= modulus;
  if (step == 0) return std::nullopt;
  // Steps of modulus − step reach the mirrored range at the same x.
  if (step > modulus - step) {
    return first_in_range(modulus - step, modulus, modulus - last, modulus - first);
  }
  const std::int64_t x = divide_up(first, step);
  if (static_cast<Wide>(x) * step <= last) return x;
  // No multiple of `step` lies in the range. Let step × x = modulus × turns + hit with `hit` in the
  // range. Then `turns` is the least number for which −modulus × turns mod step lies in
  // [first mod step, last mod step].
  const auto turns = first_in_range(step - modulus % step, step, first % step, last % step);
  if (!turns) return std::nullopt;
  const Wide least = static_cast<Wide>(modulus) * *turns + first;
  return static_cast<std::int64_t>((least + step - 1) / step);
}

}  // namespace weir::array
