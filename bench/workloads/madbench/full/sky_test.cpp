// What the analysis is made of, each against its definition.
#include "workloads/madbench/full/sky.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "workloads/madbench/full/legendre.hpp"
#include "workloads/madbench/full/random48.hpp"
#include "workloads/madbench/full/small_matrix.hpp"

namespace weir::bench::madbench {
namespace {

TEST(Random48, IsTheLibrarysGenerator) {
  for (const std::uint32_t seed : {0U, 1U, 4294967295U}) {
    srand48(static_cast<long>(seed));  // NOLINT(concurrency-mt-unsafe): it is what is tested
    Random48 random(seed);
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(random.next(), drand48());  // NOLINT(concurrency-mt-unsafe)
    }
  }
}

TEST(Sky, TakesAscensionThenDeclinationFromConsecutiveNumbers) {
  Random48 random(0);
  const double ascension = 2 * std::numbers::pi * random.next();
  const double declination = std::numbers::pi * (random.next() - 0.5);
  const std::vector<Direction3> sky = random_sky(50);
  ASSERT_EQ(sky.size(), 50U);
  EXPECT_NEAR(std::atan2(sky[0][1], sky[0][0]), std::remainder(ascension, 2 * std::numbers::pi),
              1e-14);
  EXPECT_NEAR(std::asin(sky[0][2]), declination, 1e-14);
  for (const Direction3& a : sky) {
    EXPECT_NEAR(cosine_between(a, a), 1, 1e-15);
    for (const Direction3& b : sky) EXPECT_LE(std::abs(cosine_between(a, b)), 1);
  }
}

// Bin after bin, the recurrence gives what the standard library gives for each multipole alone.
TEST(Legendre, ContinuesFromBinToBin) {
  const std::vector<double> cosines{-1, -0.7, 0, 0.3, 0.999, 1};
  std::vector<double> before(cosines.size(), 0.0);
  std::vector<double> current(cosines.size(), 1.0);
  std::vector<double> sum(cosines.size(), 99.0);
  for (std::int64_t first : {1, 11, 21}) {
    std::vector<double> weights(10);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1.0 / static_cast<double>(i + 1);
    add_multipoles(first, weights, cosines, before, current, sum);
    for (std::size_t i = 0; i < cosines.size(); ++i) {
      double expected = 0;
      for (int k = 0; k < 10; ++k) {
        const auto l = static_cast<unsigned>(first + k);
        expected += weights[static_cast<std::size_t>(k)] * (2 * l + 1) / (4 * std::numbers::pi) *
                    std::legendre(l, cosines[i]);
      }
      EXPECT_NEAR(sum[i], expected, 1e-12) << "from " << first << " at " << cosines[i];
      EXPECT_NEAR(current[i], std::legendre(static_cast<unsigned>(first + 9), cosines[i]), 1e-13);
    }
  }
}

TEST(SmallFactor, SolvesAndInvertsOnlyPositiveDefiniteSystems) {
  const std::vector<double> matrix{4, 0, 0, 2, 5, 0, 0, 1, 3};  // lower triangle
  const auto factor = SmallFactor::create(matrix, 3);
  ASSERT_TRUE(factor);
  const std::vector<double> x = factor->solve(std::vector<double>{8, 13, 7});
  EXPECT_NEAR(4 * x[0] + 2 * x[1], 8, 1e-12);
  EXPECT_NEAR(2 * x[0] + 5 * x[1] + x[2], 13, 1e-12);
  EXPECT_NEAR(x[1] + 3 * x[2], 7, 1e-12);
  // Cofactors over the determinant, 44.
  const std::vector<double> diagonal = factor->inverse_diagonal();
  EXPECT_NEAR(diagonal[0], 14.0 / 44, 1e-12);
  EXPECT_NEAR(diagonal[1], 12.0 / 44, 1e-12);
  EXPECT_NEAR(diagonal[2], 16.0 / 44, 1e-12);
  EXPECT_FALSE(SmallFactor::create(std::vector<double>{1, 0, 2, 1}, 2));
  EXPECT_FALSE(SmallFactor::create(std::vector<double>{std::nan("")}, 1));
}

}  // namespace
}  // namespace weir::bench::madbench
