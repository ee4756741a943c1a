// PATH.sums over the steps of a file, as rank 0 keeps it.
#include "aggregation/step_sums.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "checksums/sums_file.hpp"
#include "system/test_folder.hpp"

namespace weir::aggregation {
namespace {

FileSettings with_checksums(storage::Checksum checksum) {
  return {.format = "raw", .durability = storage::StepDurability::none, .checksum = checksum};
}

class SumsOfSteps : public testing::Test {
 protected:
  [[nodiscard]] StepSums::Runs runs_of_step(std::int64_t step) const {
    // No two steps are neighbours.
    return {{"", 2 * step * block_, block_, {static_cast<std::uint32_t>(step)}}};
  }
  // Returns the number of runs that a file with so many steps has checksums of.
  [[nodiscard]] std::size_t known_for(std::int64_t steps) const {
    return storage::parse_sums(storage::read_sums(sums_file_).value(), steps).book.runs().size();
  }
  // Writes the frame of the step behind `steps`, as a run that is killed before the commit.
  static void enter_only(StepSums& sums, std::int64_t steps, const StepSums::Runs& runs) {
    EXPECT_TRUE(sums.enter(steps + 1, runs, true).ok());
  }

  const std::int64_t block_ = storage::sum_block_bytes;
  storage::TestFolder folder_;
  std::string path_ = folder_.path("file");
  std::string sums_file_ = storage::sums_path(path_);
  StepSums sums_{path_, with_checksums(storage::Checksum::crc32c), true, 4};
};

TEST_F(SumsOfSteps, AreNamedByTheFirstCommit) {
  ASSERT_TRUE(sums_.are_kept());
  ASSERT_TRUE(sums_.enter(1, runs_of_step(0), false).ok());
  EXPECT_FALSE(std::filesystem::exists(sums_file_));
  sums_.note_commit(false);
  EXPECT_FALSE(std::filesystem::exists(storage::incomplete_sums_path(path_)));
  EXPECT_EQ(known_for(1), 1U);
}

TEST_F(SumsOfSteps, ThatWereNotCommittedAreCutOff) {
  ASSERT_TRUE(sums_.enter(1, runs_of_step(0), false).ok());
  sums_.note_commit(false);
  const auto bytes = std::filesystem::file_size(sums_file_);
  enter_only(sums_, 1, runs_of_step(1));
  EXPECT_GT(std::filesystem::file_size(sums_file_), bytes);
  ASSERT_TRUE(sums_.cut(1).ok());
  EXPECT_EQ(std::filesystem::file_size(sums_file_), bytes);
  // The next run does the same.
  enter_only(sums_, 1, runs_of_step(1));
  StepSums next(path_, with_checksums(storage::Checksum::crc32c), true, 1);
  ASSERT_TRUE(next.cut(1).ok());
  ASSERT_TRUE(next.enter(2, runs_of_step(2), true).ok());
  next.note_commit(true);
  EXPECT_EQ(known_for(2), 2U);
}

TEST_F(SumsOfSteps, AreReadAgainOnlyIfOthersMayHaveChangedThem) {
  ASSERT_TRUE(sums_.enter(1, runs_of_step(0), false).ok());
  sums_.note_commit(false);
  ASSERT_TRUE(sums_.cut(0).ok());
  EXPECT_EQ(known_for(1), 1U) << "they are as the commit left them";
  sums_.forget();
  ASSERT_TRUE(sums_.cut(0).ok());
  EXPECT_EQ(known_for(1), 0U);
}

TEST_F(SumsOfSteps, AreNotAppendedToWhatNobodyReads) {
  std::filesystem::create_directory(sums_file_);
  ASSERT_TRUE(sums_.cut(1).ok());
  EXPECT_TRUE(sums_.enter(2, runs_of_step(1), true).ok());
  EXPECT_TRUE(std::filesystem::is_empty(sums_file_));
}

TEST_F(SumsOfSteps, OfAnEarlierFileGoWhereNoneAreKept) {
  ASSERT_TRUE(sums_.enter(1, runs_of_step(0), false).ok());
  StepSums none(path_, with_checksums(storage::Checksum::none), true, 4);
  EXPECT_FALSE(none.are_kept());
  ASSERT_TRUE(none.enter(1, {}, false).ok());
  EXPECT_FALSE(std::filesystem::exists(storage::incomplete_sums_path(path_)));
  ASSERT_TRUE(none.enter(2, runs_of_step(1), true).ok());
  EXPECT_FALSE(std::filesystem::exists(sums_file_));
}

}  // namespace
}  // namespace weir::aggregation
