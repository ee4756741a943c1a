// Shares of a step in the journals of several stagers: the step is stored once, by whichever of
// them comes last, and never without the bytes of all.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/writer_lock.hpp"
#include "stager/journal_fixture.hpp"

namespace weir::stager {
namespace {

// Two stagers, each with a share of a step: "cd" at offset 6 and "ab" at offset 4, published by "1"
// at offset 0.
class ShareTest : public JournalTest {
 protected:
  [[nodiscard]] std::string place_of(int stager) const { return place() + std::to_string(stager); }
  [[nodiscard]] static transport::StepShare share_of(int stager, std::uint64_t ticket = 1) {
    return {.session = {std::byte{7}},
            .ticket = ticket,
            .number = static_cast<std::uint64_t>(stager),
            .hosts = {"node0", "node1"}};
  }
  void record_share(int stager, std::uint64_t ticket = 1, const std::string& text = "abcd") const {
    auto made = Journal::create(place_of(stager), large_quota);
    ASSERT_TRUE(made.ok()) << made.error().text();
    Journal& journal = *made.value();
    const std::vector<Journal::NamedFile> files = {std::make_shared<const transport::NameFile>(
        transport::NameFile{.file = 3, .path = path(), .bytes_when_made = 0, .known = known()})};
    std::vector<std::byte> block = bytes_of(stager == 0 ? text.substr(2) : text.substr(0, 2));
    const std::vector<transport::BlockExtent> extents = {{0, stager == 0 ? 6 : 4, 2}};
    ASSERT_TRUE(journal.put(own_session, files, extents, block).ok());
    // The lock is that of the stager that publishes.
    const Status ended = journal.end_step(end_of(step(), share_of(stager, ticket)), true);
    ASSERT_TRUE(ended.ok()) << ended.error().text();
  }
  // A stager that starts; it lets go of its shares when they go out of scope.
  [[nodiscard]] std::vector<WaitingShare> start(int stager) {
    return replay_journals(place_of(stager), nullptr,
                           [&](const std::string& line) { said_.push_back(line); });
  }
  void go_on(std::vector<WaitingShare>& shares) {
    (void)go_on_with_shares(shares, nullptr,
                            [&](const std::string& line) { said_.push_back(line); });
  }
  [[nodiscard]] bool has_left_nothing() const {
    const bool has_marks = std::filesystem::exists(path() + ".weir_shares") ||
                           std::filesystem::exists(storage::written_shares_path(path()));
    return !has_marks && std::filesystem::is_empty(place_of(0)) &&
           std::filesystem::is_empty(place_of(1)) &&
           !std::filesystem::exists(storage::lock_path(path()));
  }
  [[nodiscard]] bool was_said(const std::string& part) const {
    return std::ranges::any_of(
        said_, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }

  Lines said_;
};

TEST_F(ShareTest, AreStoredWhenAllHaveStartedAgain) {
  for (const int first : {0, 1}) {
    write_text(path(), before);
    said_.clear();
    record_share(0);
    record_share(1);
    auto one = start(first);
    ASSERT_EQ(one.size(), 1U);
    EXPECT_TRUE(
        was_said("no stager has told that it has the journal of node" + std::to_string(1 - first)));
    EXPECT_EQ(text_of(path()), before) << "nothing is written before all are there";
    go_on(one);
    EXPECT_EQ(said_.size(), 1U) << "nothing has changed";
    auto other = start(1 - first);
    EXPECT_TRUE(was_said("the share of node" + std::to_string(first) + " is still to be written"));
    go_on(one);
    EXPECT_TRUE(one.empty());
    EXPECT_EQ(text_of(path()), after);
    EXPECT_TRUE(was_said("was stored from the journals of 2 stagers"));
    go_on(other);
    EXPECT_TRUE(other.empty());
    EXPECT_TRUE(has_left_nothing());
  }
}

TEST_F(ShareTest, AreStoredByStagersThatRunOneAfterTheOther) {
  record_share(0);
  record_share(1);
  for (const int stager : {0, 1, 0, 1}) (void)start(stager);
  EXPECT_EQ(text_of(path()), after);
  EXPECT_TRUE(has_left_nothing());
}

// A program that has the file open may write where the bytes of a share are.
TEST_F(ShareTest, AreWrittenAgainBehindAnotherWriter) {
  record_share(0);
  record_share(1);
  auto first = start(0);
  auto second = start(1);  // has written its bytes
  {
    const auto lock = storage::WriterLock::take(path());
    ASSERT_TRUE(lock.ok());
    write_text(path(), "0000xxxx00");
    go_on(first);
    EXPECT_TRUE(was_said("already has it open"));
    EXPECT_EQ(text_of(path()), "0000xxxx00");
  }
  go_on(first);
  go_on(second);
  go_on(first);
  EXPECT_EQ(text_of(path()), after);
  EXPECT_TRUE(has_left_nothing());
}

TEST_F(ShareTest, OfAStepThatHasNotEndedAreNotWrittenAndStopNoOther) {
  record_share(1, 1, "xxxx");  // the stager that publishes has not recorded this one
  auto orphan = start(1);
  go_on(orphan);
  EXPECT_EQ(text_of(path()), before);
  record_share(0, 2);
  record_share(1, 2);
  auto first = start(0);
  auto second = start(1);
  go_on(first);
  go_on(second);
  go_on(orphan);
  EXPECT_EQ(text_of(path()), after);
  EXPECT_TRUE(was_said("was replaced or changed") || orphan.empty());
  EXPECT_FALSE(std::filesystem::exists(path() + ".weir_shares"));
}

TEST_F(ShareTest, AreLaidAsideWhereTheirFileHasChanged) {
  record_share(0);
  record_share(1);
  auto first = start(0);
  write_text(path(), "2000000000");
  auto second = start(1);
  go_on(first);
  EXPECT_TRUE(first.empty() && second.empty());
  EXPECT_EQ(text_of(path()), "2000000000");
  EXPECT_TRUE(was_said("was replaced or changed"));
  EXPECT_FALSE(std::filesystem::exists(path() + ".weir_shares"));
  for (const int stager : {0, 1}) {
    const auto left = std::filesystem::directory_iterator(place_of(stager));
    EXPECT_TRUE(left->path().string().ends_with(".aside"));
  }
}

TEST_F(ShareTest, OfAPublishedStepAreRemoved) {
  record_share(0);
  record_share(1);
  write_text(path(), after);
  (void)start(0);
  (void)start(1);
  EXPECT_EQ(text_of(path()), after);
  EXPECT_TRUE(has_left_nothing());
}

TEST_F(ShareTest, OfASessionThatIsOverAreTakenOver) {
  auto made = Journal::create(place_of(0), large_quota);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(made.value()->end_step(end_of(step(), share_of(0)), true).ok());
  auto files = made.value()->forget(own_session);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_TRUE(start(0).empty()) << "another stager lets it be";
  const auto say = [&](const std::string& line) { said_.push_back(line); };
  auto share = take_share(std::move(files.front()), say);
  ASSERT_TRUE(share.has_value());
  EXPECT_GT(share->bytes, 0);
  write_text(path(), after);
  std::vector<WaitingShare> shares;
  shares.push_back(std::move(*share));
  EXPECT_GT(go_on_with_shares(shares, nullptr, say), 0);
  EXPECT_TRUE(shares.empty());
  EXPECT_TRUE(std::filesystem::is_empty(place_of(0)));
}

TEST_F(ShareTest, ThatAreRefusedLeaveNothing) {
  auto made = Journal::create(place_of(0), large_quota);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(put(*made.value()).ok());
  RecordStep refused = end_of(step(), share_of(0));
  refused.refused = invalid_argument("another stager has no room");
  EXPECT_FALSE(made.value()->end_step(refused, true).ok());
  EXPECT_TRUE(std::filesystem::is_empty(place_of(0)));
}

// The lock of such a file has a name that is short enough, and the notes beside it have not.
TEST_F(ShareTest, AreNotOfAFileWithTooLongAName) {
  const std::string longest = path().substr(0, path().rfind('/') + 1) + std::string(231, 'x');
  for (const std::string& name : {longest, longest + "x"}) {
    write_text(name, before);
    transport::CommitStep of_it = step();
    of_it.path = name;
    auto made = Journal::create(place_of(0), large_quota);
    ASSERT_TRUE(made.ok());
    const Status ended = made.value()->end_step(end_of(of_it, share_of(0)), true);
    EXPECT_EQ(ended.ok(), name == longest);
    if (!ended.ok()) {
      EXPECT_NE(ended.error().text().find("so long a name"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace weir::stager
