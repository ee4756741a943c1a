#include "ranks/waiting.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace weir::ranks {
namespace {

std::vector<long> naps_of_one_wait(std::int64_t ranks_per_core) {
  std::vector<long> naps(6);
  std::int64_t before = 0;
  for (long& nap : naps) nap = nap_ns(ranks_per_core, before++);
  return naps;
}

TEST(Naps, AreHalvedWhileAWaitGoesOn) {
  EXPECT_EQ(naps_of_one_wait(1),
            (std::vector<long>{2'000'000, 1'000'000, 500'000, 250'000, 250'000, 250'000}));
  EXPECT_EQ(naps_of_one_wait(4),
            (std::vector<long>{8'000'000, 4'000'000, 2'000'000, 1'000'000, 1'000'000, 1'000'000}));
}

TEST(Naps, NeverLastLongerThanTheLongest) {
  EXPECT_EQ(naps_of_one_wait(5)[0], 8'000'000);
  EXPECT_EQ(naps_of_one_wait(31)[5], 7'750'000);
  EXPECT_EQ(naps_of_one_wait(32), std::vector<long>(6, 8'000'000));
  EXPECT_EQ(naps_of_one_wait(33), std::vector<long>(6, 8'000'000));
  EXPECT_EQ(naps_of_one_wait(std::numeric_limits<std::int64_t>::max()),
            std::vector<long>(6, 8'000'000));
  EXPECT_EQ(nap_ns(1, std::numeric_limits<std::int64_t>::max()), 250'000);
}

}  // namespace
}  // namespace weir::ranks
