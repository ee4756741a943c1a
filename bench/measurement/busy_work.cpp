#include "measurement/busy_work.hpp"

#include <algorithm>
#include <cmath>

namespace weir::bench {
namespace {

// Computes four chains of x = x * a + b with 0 < a < 1: they are bounded, and each step needs the
// previous one.
double multiply_adds(std::int64_t operations, double start) {
  double a0 = start;
  double a1 = start + 0.25;
  double a2 = start + 0.5;
  double a3 = start + 0.75;
  double factor = 0.999999;
  double addend = 1e-6;
  // The values are opaque to the compiler, so that it does not fold the recurrences into closed
  // forms.
  asm volatile("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(factor), "+x"(addend));
  for (std::int64_t i = 0; i < operations; i += 4) {
    a0 = a0 * factor + addend;
    a1 = a1 * factor + addend;
    a2 = a2 * factor + addend;
    a3 = a3 * factor + addend;
  }
  double sum = a0 + a1 + a2 + a3;
  asm volatile("" : "+x"(sum));
  return sum * 0.25;
}

}  // namespace

double busy_work(std::int64_t operations, const std::function<void()>& progress) {
  double value = 0.5;
  while (operations > 0) {
    const std::int64_t piece = std::min(operations, progress_interval);
    value = multiply_adds(piece, value);
    operations -= piece;
    if (progress) progress();
  }
  return value;
}

std::int64_t busy_work_operations(std::int64_t no_pix, int exponent, double alpha,
                                  std::int64_t ranks) {
  const double power = alpha > 0 ? 2 * alpha : exponent;
  const double operations = std::pow(static_cast<double>(no_pix), power);
  const double share = std::ceil(operations / static_cast<double>(ranks));
  constexpr double most = 4611686018427387904.0;  // 2^62
  return share >= most ? std::int64_t{1} << 62 : static_cast<std::int64_t>(share);
}

}  // namespace weir::bench
