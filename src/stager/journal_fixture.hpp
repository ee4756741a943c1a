// A journal in a folder of a test, with a step of a small file, and what its replay says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stager/journal.hpp"
#include "stager/journal_replay.hpp"
#include "system/known_file.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"
#include "transport/messages.hpp"

namespace weir::stager {

using storage::text_of;
using storage::write_text;
using Lines = std::vector<std::string>;

inline constexpr std::int64_t large_quota = 1 << 20;
inline constexpr SessionId own_session = 7;

inline std::vector<std::byte> bytes_of(const std::string& text) {
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
    return {.job = 0, .session = own_session, .step = step, .share = share, .refused = {}};
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
    return journal.put(own_session, files,
                       std::vector<transport::BlockExtent>{{0, 6, 2}, {0, 4, 2}}, block);
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

}  // namespace weir::stager
