#include "measurement/files_on_targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "measurement/striping_settings.hpp"

namespace weir::bench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct ReadOptions {
  storage::Striping striping;
  FilesOnTargets files;
};

Result<ReadOptions> read_options(const std::vector<std::string>& words) {
  const auto declared = declarations_of(striping_table(), targets_table());
  const auto resolved = resolve_settings("test", "", declared, words,
                                         [](const std::string&) { return std::nullopt; });
  if (!resolved) return resolved.error();
  const Settings& settings = resolved.value().settings;
  ReadOptions all;
  auto striping = striping_of(settings);
  if (!striping) return striping.error();
  all.striping = std::move(striping).value();
  auto files = files_on_targets_of(settings, &all.striping);
  if (!files) return files.error();
  all.files = std::move(files).value();
  return all;
}

std::string refusal_of(const std::vector<std::string>& words) {
  const auto all = read_options(words);
  return all ? "" : all.error().text();
}

TEST(FilesOnTargets, AreReadAndWrittenAlike) {
  const auto none = read_options({"--stripe-size", "1m"});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none.value().files.empty());
  EXPECT_EQ(none.value().striping.stripe_bytes, 1 << 20);
  EXPECT_THAT(none.value().files.arguments(), IsEmpty());

  const auto some = read_options({"--targets", "8,0-2", "--stripe-size", "1m"});
  ASSERT_TRUE(some.ok());
  EXPECT_TRUE(some.value().striping.empty());
  const auto written = some.value().files.arguments();
  EXPECT_THAT(written, ElementsAre("--targets", "8,0,1,2", "--stripe-size", "1048576"));
  EXPECT_EQ(read_options(written).value().files.chosen, some.value().files.chosen);
}

TEST(FilesOnTargets, OtherChoicesOfTargetsAreRefused) {
  EXPECT_THAT(refusal_of({"--targets", "0-3", "--stripe-count", "2"}), HasSubstr("--targets 0-3"));
  EXPECT_THAT(refusal_of({"--targets", "0", "--first-target", "0"}), HasSubstr("--first-target"));
  EXPECT_THAT(refusal_of({"--targets", "0", "--pool", "flash"}), HasSubstr("--pool"));
  EXPECT_THAT(refusal_of({"--targets", "0,x"}), HasSubstr("--targets"));
}

TEST(FilesOnTargets, AFileOfARankHasOneTarget) {
  FilesOnTargets files{.chosen = {.indices = {7, 0, 2}, .stripe_bytes = 65536}};
  ASSERT_TRUE(choose_form({true, true}, 3, &files).ok());
  EXPECT_EQ(files.folders(), 3U);
  const std::vector<std::int32_t> expected = {7, 0, 2, 7, 0};
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    const auto targets = files.of_rank(static_cast<std::int64_t>(rank));
    EXPECT_THAT(targets.indices, ElementsAre(expected[rank]));
    EXPECT_EQ(targets.stripe_bytes, 65536);
  }
  EXPECT_EQ(files.folder_ending(1), "-target0");
}

TEST(FilesOnTargets, AFileOfAllRanksHasAll) {
  FilesOnTargets files{.chosen = {.indices = {7, 0, 2}}};
  ASSERT_TRUE(choose_form({false}, 1, &files).ok());
  EXPECT_EQ(files.folders(), 1U);
  EXPECT_EQ(files.of_rank(5), files.chosen);
  EXPECT_EQ(files.folder_ending(0), "");
}

TEST(FilesOnTargets, KindsOfFilesAreNotMixedAndNoTargetIsLeftOver) {
  FilesOnTargets files{.chosen = {.indices = {7, 0, 2}}};
  EXPECT_THAT(choose_form({true, false}, 8, &files).error().text(), HasSubstr("--targets 7,0,2"));
  EXPECT_THAT(choose_form({true}, 2, &files).error().text(), HasSubstr("3 targets"));
  FilesOnTargets none;
  EXPECT_TRUE(choose_form({true, false}, 1, &none).ok());
  EXPECT_EQ(none.folders(), 1U);
}

TEST(FilesOnTargets, AFileSystemWithoutTheChoiceIsNamed) {
  EXPECT_TRUE(check_targets("/proc", {}).ok());
  const Status refused = check_targets("/proc", {.chosen = {.indices = {0, 1}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), AllOf(HasSubstr("--targets 0,1: on proc "),
                                            HasSubstr("--directory"), Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace weir::bench
