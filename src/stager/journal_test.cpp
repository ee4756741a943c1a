// The journal of a stager: what a killed one leaves is stored once, what is torn, damaged or of
// another file never.
#include "stager/journal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/writer_lock.hpp"
#include "stager/disk_record.hpp"
#include "stager/journal_replay.hpp"
#include "system/known_file.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"
#include "transport/messages.hpp"

namespace weir::stager {
namespace {

using storage::text_of;
using storage::write_text;
using Lines = std::vector<std::string>;

constexpr std::int64_t large_quota = 1 << 20;
constexpr SessionId session = 7;

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::ranges::transform(text, bytes.begin(), [](char one) { return static_cast<std::byte>(one); });
  return bytes;
}

// A file "0000000000", whose step is "abcd" at offset 4, published by "1" at offset 0.
class JournalTest : public testing::Test {
 protected:
  void SetUp() override { write_text(path(), before); }

  [[nodiscard]] std::string path() const { return folder_.path("f"); }
  [[nodiscard]] std::string place() const { return folder_.path("journal"); }
  [[nodiscard]] storage::KnownFile known() const {
    return {path(), storage::identity_of(path()).value()};
  }
  [[nodiscard]] transport::CommitStep step() const {
    return {.path = path(),
            .update = {.made = {},
                       .changes = {storage::HeaderWrite{.offset = 0, .bytes = bytes_of("1")}}}};
  }
  [[nodiscard]] static RecordStep end_of(const transport::CommitStep& step,
                                         const transport::StepShare& share = {}) {
    return {.job = 0, .session = session, .step = step, .share = share, .refused = {}};
  }
  [[nodiscard]] std::unique_ptr<Journal> open(std::int64_t quota = large_quota) const {
    auto made = Journal::create(place(), quota);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return std::move(made).value();
  }
  [[nodiscard]] Status put(Journal& journal) const {
    const std::vector<Journal::NamedFile> files = {std::make_shared<const transport::NameFile>(
        transport::NameFile{.file = 3, .path = path(), .bytes_when_made = 0, .known = known()})};
    std::vector<std::byte> block = bytes_of("cdab");
    return journal.put(session, files, std::vector<transport::BlockExtent>{{0, 6, 2}, {0, 4, 2}},
                       block);
  }
  // Records the step, as a stager that is killed then.
  void record() const {
    const auto journal = open();
    const Status put = this->put(*journal);
    ASSERT_TRUE(put.ok()) << put.error().text();
    const Status ended = journal->end_step(end_of(step()), true);
    ASSERT_TRUE(ended.ok()) << ended.error().text();
  }
  [[nodiscard]] Lines replay() const {
    Lines lines;
    (void)replay_journals(place(), nullptr,
                          [&](const std::string& line) { lines.push_back(line); });
    return lines;
  }
  // Names below the folder of the journal.
  [[nodiscard]] Lines left() const {
    Lines names;
    for (const auto& one : std::filesystem::directory_iterator(place())) {
      names.push_back(one.path().string());
    }
    return names;
  }
  void expect_kept_aside(const Lines& lines, const std::string& reason) {
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines.front().find(reason), std::string::npos) << lines.front();
    ASSERT_EQ(left().size(), 1U);
    EXPECT_TRUE(left().front().ends_with(".aside"));
    EXPECT_NE(lines.front().find(left().front()), std::string::npos) << lines.front();
    EXPECT_TRUE(replay().empty()) << "what is kept aside is not looked at again";
  }

  static void ignore(const std::string& /*line*/) {}

  static constexpr const char* before = "0000000000";
  static constexpr const char* after = "1000abcd00";

 private:
  storage::TestFolder folder_;
};

TEST_F(JournalTest, GivesBackAStepOnce) {
  record();
  EXPECT_EQ(text_of(path()), before);
  const Lines lines = replay();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines.front().find("was stored from the journal"), std::string::npos) << lines.front();
  EXPECT_EQ(text_of(path()), after);
  EXPECT_TRUE(left().empty());
  EXPECT_FALSE(std::filesystem::exists(storage::lock_path(path())));
  EXPECT_TRUE(replay().empty());
}

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
    ASSERT_TRUE(journal.put(session, files, extents, block).ok());
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
  auto files = made.value()->forget(session);
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

TEST_F(JournalTest, LetsThatOfALivingStagerBe) {
  const auto journal = open();
  ASSERT_TRUE(put(*journal).ok());
  ASSERT_TRUE(journal->end_step(end_of(step()), true).ok());
  EXPECT_TRUE(replay().empty());
  EXPECT_EQ(left().size(), 1U);
  EXPECT_EQ(text_of(path()), before);
  journal->stored(session, path());
  EXPECT_TRUE(left().empty());
}

// A stager that was just killed may have its journal open for a while.
TEST_F(JournalTest, OfAStagerThatIsEndingIsLookedAtAgain) {
  auto journal = open();
  ASSERT_TRUE(put(*journal).ok());
  ASSERT_TRUE(journal->end_step(end_of(step()), true).ok());
  std::vector<std::string> in_use;
  std::vector<WaitingShare> shares = replay_journals(place(), nullptr, ignore, &in_use);
  EXPECT_EQ(in_use, left());
  replay_journals_in_use(in_use, shares, nullptr, ignore);
  EXPECT_EQ(in_use.size(), 1U);
  EXPECT_EQ(text_of(path()), before);
  journal.reset();
  replay_journals_in_use(in_use, shares, nullptr, ignore);
  EXPECT_TRUE(in_use.empty());
  EXPECT_TRUE(left().empty());
  EXPECT_EQ(text_of(path()), after);
}

// What publishes such a step is not known when it is accepted.
TEST_F(JournalTest, HasNoStepWithChunksInATable) {
  const auto journal = open();
  transport::NameFile file{.file = 3, .path = path(), .bytes_when_made = 0, .known = known()};
  file.places.step = 1;
  std::vector<std::byte> block = bytes_of("cdab");
  const std::vector<Journal::NamedFile> files = {std::make_shared<const transport::NameFile>(file)};
  const auto put_again = [&] {
    return journal->put(session, files, std::vector<transport::BlockExtent>{{0, 6, 4}}, block);
  };
  const Status refused = put_again();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("chunks with a codec"), std::string::npos);
  EXPECT_TRUE(put_again().ok()) << "it is told once";
  EXPECT_FALSE(journal->end_step(end_of(step()), true).ok());
  // The step that brings no bytes.
  transport::CommitStep empty = step();
  empty.chunks.step = 2;
  EXPECT_FALSE(journal->end_step(end_of(empty), true).ok());
  EXPECT_TRUE(left().empty());
  // Steps of other kinds go on to be recorded.
  ASSERT_TRUE(put(*journal).ok());
  EXPECT_TRUE(journal->end_step(end_of(step()), true).ok());
}

TEST_F(JournalTest, HasNothingOfAStepThatHasNotEnded) {
  {
    const auto journal = open();
    ASSERT_TRUE(put(*journal).ok());
  }
  EXPECT_TRUE(replay().empty());
  EXPECT_TRUE(left().empty());
  EXPECT_EQ(text_of(path()), before);
  const auto journal = open();
  ASSERT_TRUE(put(*journal).ok());
  EXPECT_TRUE(journal->forget(session).empty());
  EXPECT_TRUE(left().empty());
}

TEST_F(JournalTest, KeepsAStepOfASessionThatIsOver) {
  const auto journal = open();
  ASSERT_TRUE(put(*journal).ok());
  ASSERT_TRUE(journal->end_step(end_of(step()), true).ok());
  EXPECT_TRUE(journal->forget(session).empty());
  EXPECT_EQ(replay().size(), 1U);
  EXPECT_EQ(text_of(path()), after);
}

TEST_F(JournalTest, EndsWhereItWasTorn) {
  record();
  const std::string name = left().front();
  const std::string whole = text_of(name);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    write_text(name, whole.substr(0, bytes));
    EXPECT_TRUE(replay().empty());
    ASSERT_TRUE(left().empty());
    ASSERT_EQ(text_of(path()), before);
  }
  write_text(name, whole);
  EXPECT_EQ(replay().size(), 1U);
  EXPECT_EQ(text_of(path()), after);
}

TEST_F(JournalTest, IsKeptAsideWhereAnyByteIsDamaged) {
  record();
  const std::string name = left().front();
  const std::string whole = text_of(name);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    SCOPED_TRACE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    write_text(name, damaged);
    expect_kept_aside(replay(), "it is damaged");
    ASSERT_EQ(text_of(path()), before);
    std::filesystem::remove(left().front());
  }
}

TEST_F(JournalTest, IsKeptAsideWhereBytesFollowItsEnd) {
  record();
  const std::string name = left().front();
  write_text(name, text_of(name) + "x");
  expect_kept_aside(replay(), "it is damaged");
  EXPECT_EQ(text_of(path()), before);
}

TEST_F(JournalTest, WritesNotIntoAFileThatReplacedItsOwn) {
  record();
  write_text(path() + ".other", before);
  std::filesystem::rename(path() + ".other", path());
  expect_kept_aside(replay(), "was replaced or changed");
  EXPECT_EQ(text_of(path()), before);
}

TEST_F(JournalTest, WritesNotIntoAFileThatIsGone) {
  record();
  std::filesystem::remove(path());
  expect_kept_aside(replay(), "was replaced or changed");
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(JournalTest, WritesNotIntoAFileWithOtherSteps) {
  record();
  write_text(path(), "2000xxxxyy");
  expect_kept_aside(replay(), "was replaced or changed");
  EXPECT_EQ(text_of(path()), "2000xxxxyy");
}

TEST_F(JournalTest, WritesNothingOfAStepThatIsStored) {
  record();
  write_text(path(), "1000xxxx00");  // by the ranks, after the stager was lost
  const Lines lines = replay();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines.front().find("was stored already"), std::string::npos) << lines.front();
  EXPECT_EQ(text_of(path()), "1000xxxx00");
  EXPECT_TRUE(left().empty());
}

TEST_F(JournalTest, WaitsForAnotherWriter) {
  record();
  auto lock = storage::WriterLock::take(path());
  ASSERT_TRUE(lock.ok());
  const Lines lines = replay();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines.front().find("stays in the journal"), std::string::npos) << lines.front();
  EXPECT_EQ(left().size(), 1U);
  EXPECT_EQ(text_of(path()), before);
  lock.value().release();
  EXPECT_EQ(replay().size(), 1U);
  EXPECT_EQ(text_of(path()), after);
}

TEST_F(JournalTest, TakesWhatItsQuotaHolds) {
  record();
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(left().front()));
  std::filesystem::remove(left().front());
  for (const std::int64_t quota : {bytes, bytes - 1}) {
    const auto journal = open(quota);
    ASSERT_TRUE(put(*journal).ok());
    const Status ended = journal->end_step(end_of(step()), true);
    EXPECT_EQ(ended.ok(), quota == bytes);
    EXPECT_EQ(left().size(), quota == bytes ? 1U : 0U);
    if (!ended.ok()) {
      EXPECT_NE(ended.error().text().find("--journal-quota"), std::string::npos);
      // The space of the step that was given up serves the next one.
      const auto empty = journal->end_step(end_of(step()), true);
      EXPECT_TRUE(empty.ok()) << empty.error().text();
    }
    journal->stored(session, path());
    EXPECT_TRUE(left().empty());
  }
}

TEST_F(JournalTest, TellsThatAPartOfAStepHadNoRoom) {
  const auto journal = open(300);
  EXPECT_FALSE(put(*journal).ok());
  EXPECT_TRUE(put(*journal).ok()) << "it is told once";
  EXPECT_TRUE(left().empty());
  EXPECT_FALSE(journal->end_step(end_of(step()), true).ok());
}

TEST_F(JournalTest, HasNoStepOfAFileThatOthersMayWrite) {
  const auto journal = open();
  ASSERT_TRUE(put(*journal).ok());
  EXPECT_FALSE(journal->end_step(end_of(step()), false).ok());
}

// Every record has its checksum, and makes no sense.
TEST_F(JournalTest, IsKeptAsideWhereItMakesNoSense) {
  using transport::Message;
  const auto encoded = [](const Message& message) { return transport::encode(message); };
  const auto file = [&](std::uint64_t number) {
    return transport::NameFile{
        .file = number, .path = path(), .bytes_when_made = 0, .known = known()};
  };
  transport::NameFile unknown = file(0);
  unknown.known.reset();
  transport::NameFile another = file(1);
  ++another.known->identity.inode;
  transport::CommitStep elsewhere = step();
  elsewhere.path += 'x';
  const std::vector<std::byte> block(64);
  const std::vector<std::vector<std::vector<std::byte>>> journals = {
      {encoded(transport::Hello{})},
      {encoded(step())},
      {encoded(unknown)},
      {encoded(file(1))},
      {encoded(file(0)), encoded(another)},
      {encoded(file(0)), encoded(transport::FilledBlock{std::int64_t{1} << 50, 1}), block},
      {encoded(file(0)), encoded(transport::FilledBlock{64, 1}), block},
      {encoded(file(0)), encoded(transport::FilledBlock{64, std::int64_t{1} << 50}), block},
      {encoded(file(0)), encoded(step()), encoded(file(1))},
      {encoded(file(0)), encoded(step()), encoded(transport::FilledBlock{64, 1})},
      {encoded(file(0)), encoded(step()), encoded(elsewhere)},
      {encoded(file(0)), encoded(step()), encoded(step()), encoded(step())},
      {{std::byte{1}}},
  };
  (void)open();
  for (std::size_t i = 0; i < journals.size(); ++i) {
    SCOPED_TRACE(i);
    std::string text;
    for (std::uint64_t number = 0; number < journals[i].size(); ++number) {
      const auto& bytes = journals[i][number];
      const RecordHead head = record_head(journal_magic, number, bytes);
      text.append(reinterpret_cast<const char*>(head.data()), head.size());
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    write_text(place() + "/" + std::string(journal_prefix) + "x", text);
    const Lines lines = replay();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines.front().find("a journal is not replayed"), std::string::npos) << lines.front();
    EXPECT_EQ(text_of(path()), before);
    std::filesystem::remove(left().front());
  }
}

}  // namespace
}  // namespace weir::stager
