// A run may be killed at any point of a commit. Every beginning of every update is applied to a
// copy of the file: it opens, all earlier steps are in it, each array has the old or the new number
// of steps, and steps can be added from there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "common/page.hpp"
#include "formats/commit_progress.hpp"
#include "formats/drop_steps.hpp"
#include "formats/format.hpp"
#include "formats/new_file.hpp"
#include "formats/test_steps.hpp"
#include "formats/unfinished.hpp"
#include "system/incomplete.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

constexpr std::int64_t rows = 3;

array::Shape steps_of(std::int64_t steps) { return array::Shape::create({steps, rows}).value(); }

std::string name_of(std::int64_t number) { return "array_" + std::to_string(number); }

// Arrays that grow, some of which share a dimension, between arrays that do not.
FileDescription growing(const Format& format, std::int64_t arrays, std::int64_t alignment,
                        const Pipeline& codecs = {}) {
  FileDescription file;
  file.alignment = alignment;
  for (std::int64_t i = 0; i < arrays; ++i) {
    ArrayDescription one{.name = name_of(i),
                         .shape = steps_of(1),
                         .type = i % 2 == 0 ? ElementKind::int32 : ElementKind::float64,
                         .grows = true};
    one.codecs = codecs;
    if (format.abilities().dimension_names) one.dimension_names = {"time", "row"};
    if (i == 1 && format.abilities().chunks) {
      const bool one_step = format.name() == "hdf5" && !codecs.empty();
      one.chunk_extents = array::Indices{one_step ? 1 : 4, 2};
    }
    if (i == 2 && format.abilities().shards) {
      one.chunk_extents = array::Indices{1, 2};
      one.shard_extents = array::Indices{4, 4};
    }
    one.attributes = {{"units", "m"}, {"long_name", "how far it is to where it is going"}};
    file.arrays.push_back(one);
    file.arrays.push_back({.name = "fixed_" + std::to_string(i), .shape = steps_of(2)});
  }
  return file;
}

void write_steps(const FileMap& map) {
  for (const StoredArray& one : map.arrays) {
    if (one.description.grows) write_array(one.map, 1);
  }
}

// The number of steps of each array, all of which have what was written into them.
void expect_steps(const FileMap& map, std::int64_t arrays, std::int64_t least, std::int64_t most) {
  EXPECT_TRUE(map.refused.empty()) << map.refused.front().reason;
  for (std::int64_t i = 0; i < arrays; ++i) {
    const StoredArray* const one = map.find(name_of(i));
    ASSERT_NE(one, nullptr) << name_of(i);
    const std::int64_t steps = one->map.shape.extent(0);
    EXPECT_TRUE(steps == least || steps == most) << steps;
    EXPECT_EQ(wrong_in_steps(*one), 0) << name_of(i);
  }
  ASSERT_TRUE(map.steps().has_value());
  EXPECT_TRUE(*map.steps() == least || *map.steps() == most);
}

// What lies beside the file is copied, too.
void copy_file(const std::string& from, const std::string& to) {
  for (const char* beside : {"", ".json", ".json.new", ".incomplete"}) {
    std::filesystem::remove_all(to + beside);
    if (!std::filesystem::exists(from + beside)) continue;
    std::filesystem::copy(from + beside, to + beside, std::filesystem::copy_options::recursive);
  }
}

// Returns whether the format's commits replace documents.
bool has_documents(const Format& format) {
  return format.name() == "zarr" || format.name() == "raw";
}

// Returns the numbers of changes after which a killed commit leaves another file than after fewer
// of them: a point of durability changes nothing in it.
std::vector<std::size_t> places_to_kill(const HeaderUpdate& update) {
  std::vector<std::size_t> places;
  for (std::size_t changes = 0; changes <= update.changes.size(); ++changes) {
    const bool is_last = changes == update.changes.size();
    if (changes > 0 && !is_last &&
        std::holds_alternative<DurabilityPoint>(update.changes[changes - 1])) {
      continue;
    }
    places.push_back(changes);
  }
  return places;
}

HeaderUpdate beginning(const HeaderUpdate& update, std::size_t changes) {
  HeaderUpdate part = update;
  part.changes.resize(changes, DurabilityPoint{});
  return part;
}

class KilledSteps : public testing::TestWithParam<StepsOfFormat> {
 protected:
  [[nodiscard]] const Format& format() const { return *GetParam().format; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& copy() const { return copy_; }

  void add_steps_killing_each_commit(std::int64_t arrays, std::int64_t most,
                                     const std::vector<std::int64_t>& added) {
    auto laid_out = format().lay_out(growing(format(), arrays, 1, GetParam().pipeline()), path_);
    ASSERT_TRUE(laid_out.ok()) << laid_out.error().text();
    write_and_commit(path_, laid_out.value(), 0);
    std::int64_t now = 1;
    for (std::size_t round = 0; now < most && !HasFailure(); ++round) {
      const std::int64_t next = now + added[round % added.size()];
      auto room = format().make_room(path_, next);
      ASSERT_TRUE(room.ok()) << room.error().text();
      const Status written = write_steps(format(), path_, room.value(), now);
      ASSERT_TRUE(written.ok()) << written.error().text();
      const auto before = content_before(path_, room.value().update);
      ASSERT_TRUE(before.ok()) << before.error().text();
      for (const std::size_t changes : places_to_kill(room.value().update)) {
        SCOPED_TRACE(std::to_string(changes) + " changes of the commit of step " +
                     std::to_string(next));
        copy_file(path_, copy_);
        const HeaderUpdate part = beginning(room.value().update, changes);
        const bool all = changes == room.value().update.changes.size();
        expect_to_be_carried_out(room.value().update, before.value(), part, all);
        if (HasFailure()) return;
        copy_file(path_, copy_);
        ASSERT_TRUE(commit(copy_, part, StepDurability::none).ok());
        expect_kept_and_go_on(arrays, now, next, all);
        EXPECT_EQ(progress(room.value().update, before.value()), CommitProgress::is_foreign)
            << "the next step is in the file";
        if (HasFailure()) return;
      }
      ASSERT_TRUE(commit(path_, room.value().update, StepDurability::none).ok());
      now = next;
    }
  }

  void lay_out_with_steps(std::int64_t arrays, std::int64_t steps) {
    auto laid_out = format().lay_out(growing(format(), arrays, 1, GetParam().pipeline()), path_);
    ASSERT_TRUE(laid_out.ok()) << laid_out.error().text();
    write_and_commit(path_, laid_out.value(), 0);
    auto room = format().make_room(path_, steps);
    ASSERT_TRUE(room.ok()) << room.error().text();
    write_and_commit(path_, room.value(), 1);
  }

  // In the copy, which has `now` steps: two more are added, of which the first is never written.
  void expect_none_of_later_steps(std::int64_t arrays, std::int64_t now) {
    EXPECT_TRUE(find_unfinished(copy_).value().empty());
    const auto opened = format().open(copy_);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    expect_steps(opened.value(), arrays, now, now);
    auto room = format().make_room(copy_, now + 2);
    ASSERT_TRUE(room.ok()) << room.error().text();
    write_and_commit(copy_, room.value(), now + 1);
    const auto after = format().open(copy_);
    ASSERT_TRUE(after.ok()) << after.error().text();
    EXPECT_EQ(after.value().steps(), now + 2);
    for (std::int64_t i = 0; i < arrays; ++i) {
      const StoredArray* const one = after.value().find(name_of(i));
      ASSERT_NE(one, nullptr);
      EXPECT_TRUE(is_empty_step(*one, now)) << name_of(i);
      EXPECT_FALSE(is_empty_step(*one, now + 1)) << name_of(i);
    }
  }

  // Returns whether all elements of a step are zeros.
  static bool is_empty_step(const StoredArray& one, std::int64_t step) {
    const array::Section section = steps_section(one.map.shape, step, step + 1);
    const std::int64_t count = one.map.shape.elements() / one.map.shape.extent(0);
    std::vector<std::byte> elements(static_cast<std::size_t>(count * one.map.type.bytes()),
                                    std::byte{1});
    DataFileCache files(DataFileCache::Use::reading);
    const auto memory =
        array::Layout::packed(section.count, one.map.type.bytes(), array::Order::row_major).value();
    const Status read = read_section(one, section, elements.data(), memory, files);
    EXPECT_TRUE(read.ok()) << read.error().text();
    return std::all_of(elements.begin(), elements.end(),
                       [](std::byte one_byte) { return one_byte == std::byte{0}; });
  }

 private:
  void write_and_commit(const std::string& path, Room& room, std::int64_t from) {
    const Status written = write_steps(format(), path, room, from);
    ASSERT_TRUE(written.ok()) << written.error().text();
    ASSERT_TRUE(commit(path, room.update, StepDurability::none).ok());
  }

  CommitProgress progress(const HeaderUpdate& update, const HeaderUpdate& before) {
    const auto found = progress_of(copy_, identity_of(copy_).value(), update, before);
    EXPECT_TRUE(found.ok()) << found.error().text();
    return found ? found.value() : CommitProgress::is_foreign;
  }

  // A commit that was killed is carried out later, in the copy, whatever part of it was made.
  void expect_to_be_carried_out(const HeaderUpdate& update, const HeaderUpdate& before,
                                const HeaderUpdate& part, bool all) {
    EXPECT_EQ(progress(update, before), CommitProgress::can_begin);
    ASSERT_TRUE(commit(copy_, part, StepDurability::none).ok());
    const CommitProgress made = progress(update, before);
    EXPECT_NE(made, CommitProgress::is_foreign);
    EXPECT_TRUE(!all || made == CommitProgress::is_done);
    const auto rest = rest_of(copy_, update);
    ASSERT_TRUE(rest.ok()) << rest.error().text();
    if (made == CommitProgress::can_begin) {
      const Status done = commit(copy_, rest.value(), StepDurability::none);
      ASSERT_TRUE(done.ok()) << done.error().text();
    }
    EXPECT_EQ(progress(update, before), CommitProgress::is_done);
  }

  // In the copy, where a commit of `next` steps came to some point.
  void expect_kept_and_go_on(std::int64_t arrays, std::int64_t now, std::int64_t next, bool all) {
    const auto opened = format().open(copy_);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    expect_steps(opened.value(), arrays, all ? next : now, next);
    // One that did not come to its end is named, and no other.
    const auto named = find_unfinished(copy_);
    ASSERT_TRUE(named.ok()) << named.error().text();
    EXPECT_EQ(named.value().empty(), all);
    auto again = format().make_room(copy_, next + 1);
    ASSERT_TRUE(again.ok()) << again.error().text();
    write_and_commit(copy_, again.value(), now);
    const auto after = format().open(copy_);
    ASSERT_TRUE(after.ok()) << after.error().text();
    expect_steps(after.value(), arrays, next + 1, next + 1);
  }

  TestFolder folder_;
  std::string path_ = folder_.path("file");
  std::string copy_ = folder_.path("copy");
};

TEST_P(KilledSteps, LeavesAllEarlierOnes) { add_steps_killing_each_commit(3, 24, {1, 2, 9}); }

TEST_P(KilledSteps, OfManyArraysLeavesAllEarlierOnes) {
  if (format().name() == "zarr") GTEST_SKIP() << "each array is a document: as with three";
  add_steps_killing_each_commit(18, 2, {1});
}

// A run that drops steps is killed at any point, after it has noted that it does. What it began is
// finished before steps are added, and these hold nothing of those that were dropped.
TEST_P(KilledSteps, DroppedAreThereOrGone) {
  constexpr std::int64_t arrays = 3;
  for (const std::int64_t kept : {0, 1, 4, 5, 9}) {
    lay_out_with_steps(arrays, 9);
    const auto update = format().drop_steps(path(), kept, 9);
    ASSERT_TRUE(update.ok()) << update.error().text();
    for (const std::size_t changes : places_to_kill(update.value())) {
      SCOPED_TRACE(std::to_string(kept) + " steps kept, " + std::to_string(changes) + " changes");
      copy_file(path(), copy());
      std::ofstream(drop_note_path(copy())) << 9;
      const HeaderUpdate part = beginning(update.value(), changes);
      ASSERT_TRUE(commit(copy(), part, StepDurability::none).ok());
      const auto opened = format().open(copy());
      ASSERT_TRUE(opened.ok()) << opened.error().text();
      expect_steps(opened.value(), arrays, kept, 9);
      EXPECT_FALSE(find_unfinished(copy()).value().empty());
      const Status finished = finish_drop(copy(), StepDurability::none);
      ASSERT_TRUE(finished.ok()) << finished.error().text();
      expect_none_of_later_steps(arrays, opened.value().steps().value());
      if (HasFailure()) return;
    }
    std::filesystem::remove_all(path());
  }
}

TEST_P(KilledSteps, MoreThanThereAreAreNotKept) {
  lay_out_with_steps(3, 2);
  EXPECT_FALSE(drop_steps(path(), 3, StepDurability::step).ok());
  EXPECT_FALSE(drop_steps(path(), -1, StepDurability::step).ok());
  EXPECT_TRUE(find_unfinished(path()).value().empty());
  const Status dropped = drop_steps(path(), 1, StepDurability::step);
  ASSERT_TRUE(dropped.ok()) << dropped.error().text();
  EXPECT_TRUE(find_unfinished(path()).value().empty());
  expect_steps(format().open(path()).value(), 3, 1, 1);
}

INSTANTIATE_TEST_SUITE_P(Formats, KilledSteps, testing::ValuesIn(formats_with_steps()),
                         [](const auto& one) { return one.param.name(); });

class KilledCommit : public testing::TestWithParam<const Format*> {
 protected:
  [[nodiscard]] const Format& format() const { return *GetParam(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  TestFolder folder_;
  std::string path_ = folder_.path("file");
};

// What is one write within a page is whole or not at all.
TEST_P(KilledCommit, WritesNothingAcrossPages) {
  ASSERT_TRUE(make_file(format(), growing(format(), 12, 1), path()).ok());
  for (const std::int64_t steps : {2, 40, 300}) {
    const auto room = format().make_room(path(), steps);
    ASSERT_TRUE(room.ok()) << room.error().text();
    std::int64_t last_writes = 0;
    for (const HeaderChange& change : room.value().update.changes) {
      if (std::holds_alternative<DurabilityPoint>(change)) last_writes = 0;
      const auto* const write = std::get_if<HeaderWrite>(&change);
      if (write == nullptr) continue;
      ++last_writes;
      EXPECT_LE(write->offset % page_bytes + static_cast<std::int64_t>(write->bytes.size()),
                page_bytes);
    }
    // One last write gives all arrays the step at once.
    EXPECT_EQ(last_writes, has_documents(format()) ? 0 : 1);
    ASSERT_TRUE(commit(path(), room.value().update, StepDurability::none).ok());
  }
}

TEST_P(KilledCommit, ChangesNothingThatReadersSeeBefore) {
  const auto laid_out = format().lay_out(growing(format(), 3, 1), path());
  ASSERT_TRUE(laid_out.ok()) << laid_out.error().text();
  EXPECT_FALSE(std::filesystem::exists(path()));
  write_steps(laid_out.value().map);
  ASSERT_TRUE(commit(path(), laid_out.value().update, StepDurability::step).ok());
  EXPECT_FALSE(std::filesystem::exists(incomplete_path(path())));
  EXPECT_TRUE(find_unfinished(path()).value().empty());
  // A run that made room for more, wrote, and was killed; one that made room for less.
  for (const std::int64_t steps : {9, 2}) {
    const auto room = format().make_room(path(), steps);
    ASSERT_TRUE(room.ok()) << room.error().text();
    if (steps == 9) write_steps(room.value().map);
    const auto opened = format().open(path());
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    expect_steps(opened.value(), 3, 1, 1);
    const auto named = find_unfinished(path());
    ASSERT_TRUE(named.ok()) << named.error().text();
    EXPECT_FALSE(named.value().empty());
    if (steps == 9) continue;
    // What the first one wrote is gone where a step's place is its own.
    const StoredArray* const one = room.value().map.find(name_of(0));
    EXPECT_EQ(wrong_elements(one->map, 1, std::vector<std::byte>(4)), rows);
    const auto& laid = laid_out.value().map.find(name_of(0))->map.files;
    EXPECT_NE(one->map.files.path(0), laid.path(0));
    EXPECT_EQ(one->map.files.path(0), committed_files(path(), laid).path(0));
  }
}

TEST_P(KilledCommit, OfANewFileKeepsTheOneThatWasThere) {
  ASSERT_TRUE(make_file(format(), growing(format(), 1, 1), path()).ok());
  const auto second = format().lay_out(growing(format(), 2, 1), path());
  if (format().name() == "zarr") {
    EXPECT_FALSE(second.ok());
    return;
  }
  ASSERT_TRUE(second.ok()) << second.error().text();
  EXPECT_EQ(format().open(path()).value().arrays.size(), 2U);
  EXPECT_EQ(find_unfinished(path()).value().size(), 1U);
  // Killed; the next run finds what it left.
  const auto third = format().lay_out(growing(format(), 3, 1), path());
  ASSERT_TRUE(third.ok()) << third.error().text();
  ASSERT_TRUE(commit(path(), third.value().update, StepDurability::none).ok());
  EXPECT_EQ(format().open(path()).value().arrays.size(), 6U);
}

INSTANTIATE_TEST_SUITE_P(Formats, KilledCommit, testing::ValuesIn(all_formats()),
                         [](const auto& one) { return std::string(one.param->name()); });

// A file replaces another one: readers find the old or the new one whole, whatever was done.
TEST_P(KilledCommit, OfANewFileLeavesTheOldOrTheNewOne) {
  if (format().name() == "zarr") GTEST_SKIP() << "no folder is replaced";
  const std::string copy = path() + "_copy";
  for (const std::int64_t arrays : {1, 2}) {
    const auto room = format().lay_out(growing(format(), arrays, 1), path());
    ASSERT_TRUE(room.ok()) << room.error().text();
    write_steps(room.value().map);
    for (std::size_t changes = 0; changes <= room.value().update.changes.size(); ++changes) {
      SCOPED_TRACE(std::to_string(changes) + " changes");
      copy_file(path(), copy);
      // A beginning without the publication would be one of a file that has its name.
      std::vector<HeaderChange> part = room.value().update.changes;
      part.resize(changes, DurabilityPoint{});
      HeaderUpdate update{room.value().update.made, part};
      if (changes == 0) update.made.clear();
      ASSERT_TRUE(commit(copy, update, StepDurability::none).ok());
      const auto opened = format().open(copy);
      if (arrays == 1 && !opened.ok()) {
        EXPECT_EQ(changes, 0U);
        continue;
      }
      ASSERT_TRUE(opened.ok()) << opened.error().text();
      const auto found = static_cast<std::int64_t>(opened.value().arrays.size()) / 2;
      EXPECT_EQ(found, changes == 0 ? arrays - 1 : arrays);
      expect_steps(opened.value(), found, 1, 1);
      EXPECT_EQ(find_unfinished(copy).value().empty(),
                changes == room.value().update.changes.size());
      const auto again = format().make_room(copy, 2);
      ASSERT_TRUE(again.ok()) << again.error().text();
      write_steps(again.value().map);
      ASSERT_TRUE(commit(copy, again.value().update, StepDurability::none).ok());
      expect_steps(format().open(copy).value(), found, 2, 2);
      // A file may be made in its place.
      EXPECT_TRUE(make_file(format(), growing(format(), 3, 1), copy).ok());
      EXPECT_EQ(format().open(copy).value().arrays.size(), 6U);
      if (HasFailure()) return;
    }
    ASSERT_TRUE(commit(path(), room.value().update, StepDurability::none).ok());
  }
}

// A raw file gets its name by one change, and its document the last text by the next one.
TEST(KilledPublication, IsCompleted) {
  const Format& raw = *find_format("raw").value();
  using enum CommitProgress;
  const std::vector<CommitProgress> after = {can_begin, can_begin, lacks_end, is_done};
  for (std::size_t changes = 0; changes < after.size(); ++changes) {
    SCOPED_TRACE(std::to_string(changes) + " changes");
    TestFolder folder;
    const std::string path = folder.path("file.raw");
    const auto room = raw.lay_out(growing(raw, 2, 1), path);
    ASSERT_TRUE(room.ok()) << room.error().text();
    const HeaderUpdate& update = room.value().update;
    ASSERT_EQ(update.changes.size() + 1, after.size());
    write_steps(room.value().map);
    const FileIdentity identity = identity_of(incomplete_path(path)).value();
    ASSERT_TRUE(commit(path, beginning(update, changes), StepDurability::none).ok());
    EXPECT_EQ(progress_of(path, identity, update, {}).value(), after[changes]);
    if (after[changes] != is_done) {
      const auto rest = rest_of(path, update);
      ASSERT_TRUE(rest.ok()) << rest.error().text();
      ASSERT_TRUE(commit(path, rest.value(), StepDurability::step).ok());
    }
    EXPECT_EQ(progress_of(path, identity, update, {}).value(), is_done);
    EXPECT_TRUE(find_unfinished(path).value().empty());
    expect_steps(raw.open(path).value(), 2, 1, 1);
  }
}

TEST(IncompleteFolder, IsRemovedOnlyWhereARunMadeIt) {
  TestFolder folder;
  const std::string path = folder.path("a");
  const std::string temporary = incomplete_path(path);
  ASSERT_TRUE(make_incomplete_folder(path).ok());
  std::ofstream(temporary + "/left") << "x";
  ASSERT_TRUE(make_incomplete_folder(path).ok());
  EXPECT_FALSE(std::filesystem::exists(temporary + "/left"));
  std::filesystem::remove_all(temporary);

  std::filesystem::create_directory(temporary);
  std::ofstream(temporary + "/somebody's") << "x";
  EXPECT_FALSE(make_incomplete_folder(path).ok());
  EXPECT_FALSE(clear_for_file(path).ok());
  EXPECT_TRUE(std::filesystem::exists(temporary + "/somebody's"));
}

TEST(CommittedPath, OfALinkIsWhatItLeadsTo) {
  TestFolder folder;
  std::filesystem::create_directory(folder.path("far"));
  std::filesystem::create_symlink(folder.path("far/a.nc"), folder.path("link"));
  EXPECT_EQ(incomplete_path(folder.path("link")),
            std::filesystem::canonical(folder.path("far")).string() + "/a.nc.incomplete");
}

}  // namespace
}  // namespace weir::storage
