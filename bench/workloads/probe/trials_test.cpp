#include "workloads/probe/trials.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::bench::probe {
namespace {

constexpr std::int64_t mebi = 1 << 20;

TEST(Shares, AddUpToOne) {
  EXPECT_NEAR(Shares::memory_copy_one_rank + Shares::memory_copy + Shares::write_cache +
                  Shares::write_storage + Shares::write_synced_once + Shares::read_cache +
                  Shares::read_storage + Shares::first_read + Shares::fsync + Shares::call +
                  Shares::barrier + Shares::busy_work,
              1.0, 1e-12);
}

TEST(RepeatsPerTrial, FillTheShareWithRehearsalsAndTrials) {
  EXPECT_EQ(repeats_per_trial(7.0, 0.1, 100), 10);
  EXPECT_EQ(repeats_per_trial(7.0, 0.1, 8), 8);
  EXPECT_EQ(repeats_per_trial(7.0, 5.0, 100), 1);
  EXPECT_EQ(repeats_per_trial(7.0, 0.0, 100), 100);
}

TEST(AnotherTrial, MakesTheLeastNumberWhateverTheyTake) {
  EXPECT_TRUE(another_trial(0, 100.0, 1.0));
  EXPECT_TRUE(another_trial(2, 100.0, 1.0));
  EXPECT_FALSE(another_trial(3, 100.0, 1.0));
}

TEST(AnotherTrial, StopsBeforeTheShareIsSpentOrAtTheUsualNumber) {
  EXPECT_TRUE(another_trial(4, 0.84, 1.0));   // four and two rehearsals: 0.14 each
  EXPECT_FALSE(another_trial(4, 0.87, 1.0));  // 0.145 each
  EXPECT_FALSE(another_trial(5, 0.01, 1.0));
}

TEST(GrownPiece, GrowsWhileThereIsTime) {
  EXPECT_EQ(grown_piece(mebi, 64 * mebi, 0.01, 0.1), 4 * mebi);
  EXPECT_EQ(grown_piece(mebi, 64 * mebi, 0.03, 0.1), mebi);
  EXPECT_EQ(grown_piece(32 * mebi, 64 * mebi, 0.03, 0.1), 64 * mebi);
  EXPECT_EQ(grown_piece(64 * mebi, 64 * mebi, 9.0, 0.1), 64 * mebi);
}

TEST(TrialsJson, KeepsTheTrialsInTheirOrder) {
  EXPECT_EQ(trials_json({3.0, 1.0, 2.0}),
            nlohmann::ordered_json::parse(
                R"({"median": 2.0, "low": 1.0, "high": 3.0, "values": [3.0, 1.0, 2.0]})"));
}

}  // namespace
}  // namespace weir::bench::probe
