// Names beside a file can be guessed. In a folder to which several users may write, one of them may
// have put a link or a pipe there: nothing is written through it, and nothing waits for the reader
// of a pipe.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "formats/drop_steps.hpp"
#include "formats/format.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "system/incomplete.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::storage {
namespace {

enum class Planted : std::uint8_t { link, link_to_nothing, link_to_folder, pipe };
constexpr std::array all_planted = {Planted::link, Planted::link_to_nothing,
                                    Planted::link_to_folder, Planted::pipe};

class GuessedNames : public testing::TestWithParam<const Format*> {
 protected:
  void SetUp() override {
    write_text(precious_, "precious");
    write_text(kept_ + "/inside", "inside");
  }
  [[nodiscard]] const Format& format() const { return *GetParam(); }
  [[nodiscard]] std::string path() const { return folder_.path("shared/file"); }

  void empty_shared_folder() const {
    std::filesystem::remove_all(folder_.path("shared"));
    std::filesystem::create_directory(folder_.path("shared"));
  }
  // Makes the file anew, with two steps in the arrays that grow.
  void make_anew() const {
    empty_shared_folder();
    const auto made = make_file(format(), all_it_can(format().abilities()), path());
    ASSERT_TRUE(made.ok()) << made.error().text();
  }
  void plant(Planted what, const std::string& name) const {
    std::filesystem::remove_all(name);
    switch (what) {
      case Planted::link:
        return std::filesystem::create_symlink(precious_, name);
      case Planted::link_to_nothing:
        return std::filesystem::create_symlink(nothing_, name);
      case Planted::link_to_folder:
        return std::filesystem::create_symlink(kept_, name);
      case Planted::pipe:
        ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0) << name;
    }
  }
  // Expects that nothing has changed to which the links lead.
  void expect_untouched() const {
    EXPECT_EQ(text_of(precious_), "precious");
    EXPECT_EQ(text_of(kept_ + "/inside"), "inside");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(kept_),
                            std::filesystem::directory_iterator()),
              1);
    EXPECT_FALSE(std::filesystem::exists(nothing_));
  }
  [[nodiscard]] std::int64_t steps() const {
    const auto opened = format().open(path());
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? opened.value().steps().value_or(-1) : -1;
  }

 private:
  TestFolder folder_;
  std::string precious_ = folder_.path("precious");
  std::string nothing_ = folder_.path("nothing");
  std::string kept_ = folder_.path("kept");
};

TEST_P(GuessedNames, OfAFileThatIsMadeAreRefusedByName) {
  const FileDescription file = all_it_can(format().abilities());
  empty_shared_folder();
  const std::string temporary = incomplete_path(path());
  for (const Planted what : all_planted) {
    SCOPED_TRACE(static_cast<int>(what));
    plant(what, temporary);
    const auto room = format().lay_out(file, path());
    ASSERT_FALSE(room.ok());
    EXPECT_EQ(room.error().file, temporary);
    EXPECT_NE(room.error().text().find("needs this name"), std::string::npos)
        << room.error().text();
    remove_incomplete(path());
    EXPECT_NE(std::filesystem::symlink_status(temporary).type(),
              std::filesystem::file_type::not_found);
    expect_untouched();
  }
  std::filesystem::remove(temporary);
  EXPECT_TRUE(make_file(format(), file, path()).ok());
}

TEST_P(GuessedNames, OfAnotherLinkToAFileLeaveTheFile) {
  const TestFolder folder;
  const std::string precious = folder.path("precious");
  const std::string place = folder.path("a");
  write_text(precious, "precious");
  std::filesystem::create_hard_link(precious, incomplete_path(place));
  const auto made = make_file(format(), all_it_can(format().abilities()), place);
  // A folder cannot take the place of the file.
  EXPECT_EQ(made.ok(), format().name() != "zarr");
  EXPECT_EQ(text_of(precious), "precious");
  EXPECT_EQ(std::filesystem::hard_link_count(precious), made.ok() ? 1U : 2U);
}

TEST_P(GuessedNames, OfAStepAreTakenFromWhatHasThem) {
  if (!format().abilities().growing) GTEST_SKIP() << "nothing grows in this format";
  std::vector<std::string> names = {".incomplete"};
  if (format().name() == "raw") names = {".json.new", ".json.renewed", ".json.replaced.new"};
  if (format().name() == "zarr") {
    names = {"/zarr.json.new", "/zarr.json.renewed", "/first/zarr.json.new",
             "/first/zarr.json.renewed"};
  }
  for (const std::string& name : names) {
    for (const Planted what : all_planted) {
      SCOPED_TRACE(name + " " + std::to_string(static_cast<int>(what)));
      make_anew();
      plant(what, path() + name);
      EXPECT_EQ(steps(), 2);
      const auto room = format().make_room(path(), 3);
      ASSERT_TRUE(room.ok()) << room.error().text();
      const ExtentMap& map = room.value().map.find("first")->map;
      write_array(map, 1);
      const Status committed = commit(path(), room.value().update, StepDurability::step);
      ASSERT_TRUE(committed.ok()) << committed.error().text();
      EXPECT_EQ(steps(), 3);
      EXPECT_EQ(wrong_elements(map, 1), 0);
      expect_untouched();
    }
  }
}

TEST_P(GuessedNames, OfANoteAboutDroppedStepsAreRefusedOrTaken) {
  if (!format().abilities().growing) GTEST_SKIP() << "nothing grows in this format";
  const std::string note = drop_note_path(path());
  for (const std::string& name : {note, note + ".new"}) {
    for (const Planted what : all_planted) {
      SCOPED_TRACE(name + " " + std::to_string(static_cast<int>(what)));
      make_anew();
      plant(what, name);
      const Status dropped = drop_steps(path(), 1, StepDurability::step);
      // What cannot be read as a note may not be thrown away: it may be a note of a killed run.
      const bool unreadable =
          name == note && (what == Planted::pipe || what == Planted::link_to_folder);
      EXPECT_EQ(dropped.ok(), !unreadable);
      if (!dropped.ok()) {
        EXPECT_EQ(dropped.error().file, note) << dropped.error().text();
      }
      EXPECT_EQ(steps(), dropped.ok() ? 1 : 2);
      expect_untouched();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, GuessedNames, testing::ValuesIn(all_formats()),
                         [](const auto& one) { return std::string(one.param->name()); });

}  // namespace
}  // namespace weir::storage
