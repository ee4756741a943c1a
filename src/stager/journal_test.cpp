// The journal of a stager: what a killed one leaves is stored once, what is torn, damaged or of
// another file never.
#include "stager/journal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/writer_lock.hpp"
#include "stager/disk_record.hpp"
#include "stager/journal_fixture.hpp"
#include "transport/messages.hpp"

namespace weir::stager {
namespace {

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

TEST_F(JournalTest, LetsThatOfALivingStagerBe) {
  const auto journal = open();
  ASSERT_TRUE(put(*journal).ok());
  ASSERT_TRUE(journal->end_step(end_of(step()), true).ok());
  EXPECT_TRUE(replay().empty());
  EXPECT_EQ(left().size(), 1U);
  EXPECT_EQ(text_of(path()), before);
  journal->stored(own_session, path());
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
    return journal->put(own_session, files, std::vector<transport::BlockExtent>{{0, 6, 4}}, block);
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
  EXPECT_TRUE(journal->forget(own_session).empty());
  EXPECT_TRUE(left().empty());
}

TEST_F(JournalTest, KeepsAStepOfASessionThatIsOver) {
  const auto journal = open();
  ASSERT_TRUE(put(*journal).ok());
  ASSERT_TRUE(journal->end_step(end_of(step()), true).ok());
  EXPECT_TRUE(journal->forget(own_session).empty());
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

TEST_F(JournalTest, StaysWhereTheFileSystemIsNotThere) {
  const std::string folder = path().substr(0, path().rfind('/'));
  const std::string elsewhere = folder + ".elsewhere";
  std::filesystem::create_directory(folder + "/mounted");
  const std::string mounted = folder + "/mounted/f";
  write_text(mounted, before);
  transport::CommitStep of_it = step();
  of_it.path = mounted;
  ASSERT_TRUE(open()->end_step(end_of(of_it), true).ok());
  std::filesystem::rename(folder + "/mounted", elsewhere);
  const Lines lines = replay();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines.front().find("stays in the journal"), std::string::npos) << lines.front();
  EXPECT_NE(lines.front().find("its folder is not there"), std::string::npos) << lines.front();
  std::filesystem::rename(elsewhere, folder + "/mounted");
  EXPECT_EQ(replay().size(), 1U);
  EXPECT_EQ(text_of(mounted), "1000000000");
  EXPECT_TRUE(left().empty());
}

// The system refuses to read the file, as it may where a server of the file system is away.
TEST_F(JournalTest, StaysWhereTheFileCannotBeRead) {
  record();
  const std::string place = path() + ".first";
  std::filesystem::rename(path(), place);
  std::filesystem::create_symlink(std::string(300, 'x'), path());
  const Lines lines = replay();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines.front().find("stays in the journal"), std::string::npos) << lines.front();
  std::filesystem::rename(place, path());
  EXPECT_EQ(replay().size(), 1U);
  EXPECT_EQ(text_of(path()), after);
}

// Both were accepted, and nothing of them was stored.
TEST_F(JournalTest, OfALaterStepIsLookedAtFirst) {
  record();
  const std::string earlier = place() + "/weir-journal-aaaaaa";
  std::filesystem::rename(left().front(), earlier);
  std::filesystem::last_write_time(
      earlier, std::filesystem::last_write_time(earlier) - std::chrono::hours(1));
  transport::CommitStep later = step();
  later.update.changes = {storage::HeaderWrite{.offset = 0, .bytes = bytes_of("2")}};
  {
    const auto journal = open();
    ASSERT_TRUE(journal->end_step(end_of(later), true).ok());
    const Lines names = left();
    const auto name = std::ranges::find_if(names, [&](const auto& one) { return one != earlier; });
    std::filesystem::rename(*name, place() + "/weir-journal-bbbbbb");
  }
  EXPECT_EQ(replay().size(), 2U);
  EXPECT_EQ(text_of(path()), "2000000000");
  ASSERT_EQ(left().size(), 1U);
  EXPECT_EQ(left().front(), earlier + ".aside");
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
    journal->stored(own_session, path());
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
