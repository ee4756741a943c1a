// What only raw files have: their document and their places.
#include "formats/raw/raw_format.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/additions.hpp"
#include "formats/open_any.hpp"
#include "formats/raw/raw_document.hpp"
#include "formats/raw/raw_leftovers.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "formats/unfinished.hpp"
#include "system/incomplete.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

FileDescription raw_example() {
  FileDescription file = all_it_can(raw_abilities());
  file.groups = {{"", {{"title", "a run"}, {"origin", std::vector<double>{0.5, 1, -2}}}},
                 {"group", {{"rank", std::vector<std::int64_t>{3}}}}};
  file.arrays.push_back({.name = "filled",
                         .shape = shape_of({1, 5}),
                         .type = ElementKind::int16,
                         .grows = true,
                         .chunk_extents = array::Indices{1, 2},
                         .dimension_names = {"time", "row"},
                         .fill = {std::byte{7}, std::byte{1}}});
  for (ArrayDescription& one : file.arrays) {
    if (one.grows) one.shape = shape_of({1, one.shape.extent(1)});
  }
  return file;
}

void write_document(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(RawFormat, ReadsItsDocumentsBack) {
  const auto placed = place_raw_arrays(raw_example());
  ASSERT_TRUE(placed.ok()) << placed.error().text();
  const auto again = parse_raw_file(raw_file_json(placed.value()).value(), "x.json");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again.value().arrays, placed.value().arrays);
  EXPECT_EQ(again.value().groups, placed.value().groups);
  EXPECT_EQ(again.value().records, placed.value().records);
  EXPECT_FALSE(again.value().renaming);
}

TEST(RawFormat, PutsLargeArraysAtPagesAndAtTheAlignment) {
  FileDescription file;
  file.alignment = 10000;
  for (const std::int64_t extent : {3, 600, 5000}) {
    for (const bool grows : {false, true}) {
      file.arrays.push_back({.name = (grows ? "g" : "f") + std::to_string(extent),
                             .shape = shape_of({1, extent}),
                             .type = ElementKind::float64,
                             .grows = grows});
    }
  }
  auto placed = place_raw_arrays(file);
  ASSERT_TRUE(placed.ok()) << placed.error().text();
  ASSERT_TRUE(placed.value().set_steps(3).ok());
  const FileMap map = placed.value().map("x");
  for (const StoredArray& one : map.arrays) {
    const std::int64_t extent = one.map.shape.extent(1);
    for (std::int64_t step = 0; step < one.map.shape.extent(0); ++step) {
      const std::int64_t offset = one.map.place_of({step, 0})->offset;
      EXPECT_EQ(offset % (extent == 3 ? 64 : 4096), 0) << one.description.name;
      if (extent == 5000) {
        EXPECT_EQ(offset % file.alignment, 0);
      }
    }
  }
  // A single array lies at the beginning, and its steps follow each other without gaps.
  const auto alone = place_raw_arrays({.arrays = {{.name = "a",
                                                   .shape = shape_of({2, 512}),
                                                   .type = ElementKind::float64,
                                                   .grows = true}}});
  EXPECT_EQ(alone.value().data_bytes(), 2 * 4096);
}

TEST(RawFormat, RefusesDocumentsThatCannotBe) {
  const auto refused = [](const std::string& from, const std::string& to) {
    std::string text = raw_file_json(place_raw_arrays(raw_example()).value()).value();
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto parsed = parse_raw_file(text, "x.json");
    ASSERT_FALSE(parsed.ok()) << to;
    EXPECT_EQ(parsed.error().code, ErrorCode::corrupt);
    EXPECT_EQ(parsed.error().text().find('\n'), std::string::npos);
  };
  refused("\"version\": 3", "\"version\": 6");
  refused("\"steps\": 1", "\"steps\": 0");
  refused("\"steps\": 1", "\"steps\": 4611686018427387904");
  refused("\"bytes\": ", "\"bytes\": 1, \"b\": ");
  refused("\"name\": \"filled\"", "\"name\": \"first\"");
  refused("\"name\": \"filled\"", "\"name\": \"../first\"");
  refused("\"grows\": true", "\"grows\": 1");
  refused("\"offset\": 0", "\"offset\": 9223372036854775807");
  refused("\"fill_value\": 263", "\"fill_value\": 70000");
  refused("\"arrays\": [", "\"arrays\": [7, ");
  std::string many = R"({"format": "weir-raw", "version": 3, "arrays": [{)";
  for (int i = 0; i < 100000; ++i) many += "\"" + std::to_string(i) + "\": 0,";
  EXPECT_FALSE(parse_raw_file(many + "\"a\": 0}]}", "x.json").ok());
}

TEST(RawFormat, RefusesDataThatAreTooShort) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  ASSERT_TRUE(make_file(*raw_format(), raw_example(), path).ok());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const auto opened = raw_format()->open(path);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
}

TEST(RawFormat, OpensAnArrayThatIsWrittenInPlaceAlsoByItsDocument) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const FileDescription array{
      .arrays = {{.name = "x", .shape = shape_of({3, 4}), .type = ElementKind::int32}},
      .in_place = Placement{}};
  const auto made = make_file(*raw_format(), array, path);
  ASSERT_TRUE(made.ok()) << made.error().text();
  for (const std::string& name : {path, path + ".json"}) {
    const auto opened = open_any(name);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_EQ(opened.value().format, "raw");
    EXPECT_EQ(opened.value().path, path);
    EXPECT_EQ(opened.value().map.arrays.at(0).map, made.value().arrays.at(0).map);
  }
  EXPECT_FALSE(raw_format()->make_room(path, 2).ok());
  EXPECT_TRUE(raw_format()->unfinished(path).value().empty());
  // A file of several arrays may take its place.
  EXPECT_TRUE(make_file(*raw_format(), raw_example(), path).ok());
  EXPECT_EQ(raw_format()->open(path).value().arrays.size(), raw_example().arrays.size());
}

TEST(RawFormat, IsWrittenInPlaceWithOneArrayWithoutStepsOnly) {
  const TestFolder folder;
  FileDescription file{.arrays = {{.name = "x", .shape = shape_of({3, 4})}},
                       .in_place = Placement{}};
  for (const Format* const format : all_formats()) {
    EXPECT_EQ(format->lay_out(file, folder.path("a")).ok(), format->name() == "raw");
  }
  file.arrays[0].grows = true;
  EXPECT_FALSE(raw_format()->lay_out(file, folder.path("a")).ok());
  file.arrays[0].grows = false;
  file.arrays.push_back({.name = "y", .shape = shape_of({2})});
  EXPECT_FALSE(raw_format()->lay_out(file, folder.path("a")).ok());
}

TEST(RawFormat, ReplacesNoDocumentThatIsNotItsOwn) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  write_document(path + ".json", R"({"mine": true})");
  EXPECT_FALSE(make_file(*raw_format(), raw_example(), path).ok());
  EXPECT_EQ(std::filesystem::file_size(path + ".json"), 14U);
}

TEST(RawFormat, GivesItsPlaceToOtherFormats) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const Format& other = *find_format("cdf5").value();
  const FileDescription file{.arrays = {{.name = "x", .shape = shape_of({2})}}};
  ASSERT_TRUE(make_file(*raw_format(), raw_example(), path).ok());
  ASSERT_TRUE(make_file(other, file, path).ok());
  EXPECT_FALSE(std::filesystem::exists(path + ".json"));
  const auto opened = open_any(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(opened.value().format, "cdf5");
  // What is somebody else's stays, and is not taken for a document.
  write_document(path + ".json", R"({"mine": true})");
  ASSERT_TRUE(make_file(other, file, path).ok());
  EXPECT_TRUE(std::filesystem::exists(path + ".json"));
  EXPECT_EQ(open_any(path).value().format, "cdf5");
  // What cannot be one, for its length or its kind, is none.
  std::filesystem::resize_file(path + ".json", most_raw_document_bytes + 1);
  EXPECT_TRUE(make_file(other, file, path).ok());
  EXPECT_EQ(open_any(path).value().format, "cdf5");
  std::filesystem::remove(path + ".json");
  std::filesystem::create_directory(path + ".json");
  EXPECT_TRUE(make_file(other, file, path).ok());
  EXPECT_EQ(open_any(path).value().format, "cdf5");
}

// Killed at each point from the note beside the document on.
TEST(RawFormat, GivesItsPlaceToOtherFormatsAlsoWhenTheirRunIsKilled) {
  const Format& other = *find_format("cdf5").value();
  const FileDescription file{.arrays = {{.name = "x", .shape = shape_of({2})}}};
  for (const int point : {0, 1, 2}) {
    SCOPED_TRACE(point);
    const TestFolder folder;
    const std::string path = folder.path("a");
    ASSERT_TRUE(make_file(*raw_format(), raw_example(), path).ok());
    ASSERT_TRUE(other.lay_out(file, path).ok());
    ASSERT_TRUE(announce_replacement(path, StepDurability::step).value());
    if (point > 0) {
      ASSERT_TRUE(publish(path, StepDurability::none).ok());
    }
    if (point > 1) std::filesystem::remove(path + ".json");
    const auto opened = open_any(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_EQ(opened.value().format, point == 0 ? "raw" : "cdf5");
    EXPECT_EQ(find_unfinished(path).value().size(), point == 2 ? 0U : 1U);
    // What is made next removes what is none of it, and keeps what is.
    ASSERT_TRUE(other.lay_out(file, path).ok());
    EXPECT_FALSE(std::filesystem::exists(path + ".json.replaced"));
    EXPECT_EQ(std::filesystem::exists(path + ".json"), point == 0);
    EXPECT_EQ(open_any(path).value().format, point == 0 ? "raw" : "cdf5");
  }
}

// Other programs know nothing of the document, and leave it. What merely begins as they do stays
// raw.
TEST(RawFormat, GivesItsPlaceToFilesOfOtherPrograms) {
  const TestFolder folder;
  const FileDescription file{.arrays = {{.name = "x", .shape = shape_of({2})}}};
  for (const char* const name : {"cdf5", "hdf5"}) {
    const auto other = find_format(name);
    if (!other) continue;
    const std::string path = folder.path(name);
    ASSERT_TRUE(make_file(*raw_format(), raw_example(), path).ok());
    EXPECT_EQ(open_any(path).value().format, "raw");
    ASSERT_TRUE(make_file(*other.value(), file, path + ".theirs").ok());
    std::filesystem::rename(path + ".theirs", path);
    ASSERT_TRUE(std::filesystem::exists(path + ".json"));
    const auto opened = open_any(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_EQ(opened.value().format, name);
    EXPECT_EQ(opened.value().map.arrays.size(), 1U);
  }
  const std::string path = folder.path("numbers");
  ASSERT_TRUE(make_file(*raw_format(), raw_example(), path).ok());
  std::fstream data(path, std::ios::binary | std::ios::in | std::ios::out);
  data.write(
      "CDF\x05"
      "\xff\xff\xff\xff",
      8);
  data.close();
  EXPECT_EQ(open_any(path).value().format, "raw");
}

// The renaming of the data fails when the document is there: readers are to see what was there.
TEST(RawFormat, UndoesAFirstCommitThatFails) {
  const TestFolder folder;
  const FileDescription file{.arrays = {{.name = "x", .shape = shape_of({2})}}};
  for (const bool replaces : {false, true}) {
    SCOPED_TRACE(replaces);
    const std::string path = folder.path(replaces ? "a" : "b");
    if (replaces) {
      ASSERT_TRUE(make_file(*raw_format(), raw_example(), path).ok());
    }
    const auto room = raw_format()->lay_out(file, path);
    ASSERT_TRUE(room.ok()) << room.error().text();
    if (replaces) std::filesystem::rename(path, path + ".kept");
    std::filesystem::create_directory(path);
    EXPECT_FALSE(commit(path, room.value().update, StepDurability::none).ok());
    std::filesystem::remove(path);
    if (replaces) std::filesystem::rename(path + ".kept", path);
    EXPECT_FALSE(is_seen_unrenamed(path));
    if (replaces) {
      EXPECT_EQ(open_any(path).value().map.arrays.size(), raw_example().arrays.size());
    } else {
      EXPECT_FALSE(open_any(path).ok());
    }
    ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
    EXPECT_EQ(open_any(path).value().map.arrays.size(), 1U);
  }
}

// The file's run was killed when its document was there, and its data had their temporary name.
TEST(RawFormat, IsCommittedThoughAnotherFormatIsLaidOutInItsPlace) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const FileDescription file{.arrays = {{.name = "x", .shape = shape_of({2})}}};
  auto room = raw_format()->lay_out(file, path);
  ASSERT_TRUE(room.ok()) << room.error().text();
  room.value().update.changes.resize(1);
  ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());
  ASSERT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(find_format("cdf5").value()->lay_out(file, path).ok());
  EXPECT_TRUE(std::filesystem::exists(path));
  const auto opened = open_any(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(opened.value().format, "raw");
  EXPECT_TRUE(raw_format()->unfinished(path).value().empty());
}

TEST(RawFormat, GivesAFileThatWasCutOffNoSteps) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const FileDescription file{.arrays = {{.name = "a", .shape = shape_of({1, 100}), .grows = true}}};
  ASSERT_TRUE(make_file(*raw_format(), file, path).ok());
  const auto whole = std::filesystem::file_size(path);
  ASSERT_TRUE(raw_format()->make_room(path, 1).ok());
  std::filesystem::resize_file(path, whole - 1);
  const auto room = raw_format()->make_room(path, 2);
  ASSERT_FALSE(room.ok());
  EXPECT_EQ(room.error().code, ErrorCode::corrupt);
  EXPECT_EQ(std::filesystem::file_size(path), whole - 1);
}

TEST(RawFormat, RefusesWhatItHasNoWordsFor) {
  const TestFolder folder;
  FileDescription file{.arrays = {{.name = "a", .shape = shape_of({2})}}};
  file.arrays[0].type = array::ElementType::record(3).value();
  EXPECT_TRUE(make_file(*raw_format(), file, folder.path("a")).ok());
  file.arrays[0].fill = std::vector<std::byte>(3);
  EXPECT_FALSE(make_file(*raw_format(), file, folder.path("a")).ok());
}

TEST(RawFormat, RefusesDocumentsThatNobodyCouldRead) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const auto refused = [&](const FileDescription& file, const std::string& why) {
    const auto room = raw_format()->lay_out(file, path);
    ASSERT_FALSE(room.ok()) << why;
    EXPECT_NE(room.error().text().find(why), std::string::npos) << room.error().text();
    EXPECT_EQ(room.error().text().find('\n'), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path + ".incomplete"));
  };
  const FileDescription plain{.arrays = {{.name = "a", .shape = shape_of({2})}}};
  FileDescription file = plain;
  file.arrays[0].name = "a\xff";
  refused(file, "UTF-8");
  file = plain;
  file.groups = {{"", {{"unit", std::string("\xb5m")}}}};
  refused(file, "UTF-8");
  file = plain;
  file.arrays[0].attributes = {{"long", std::string(most_raw_document_bytes, 'a')}};
  refused(file, "at most");
}

TEST(RawFormat, BoundsThePlacesOfAllArraysTogether) {
  FileDescription file;
  for (const char* const name : {"a", "b", "c"}) {
    file.arrays.push_back({.name = name,
                           .shape = shape_of({1, 100}),
                           .grows = true,
                           .chunk_extents = array::Indices{1, 50}});
  }
  RawFile placed = place_raw_arrays(file).value();
  EXPECT_TRUE(placed.set_steps(80000).ok());
  const Status many = placed.set_steps(100000);
  ASSERT_FALSE(many.ok());
  EXPECT_NE(many.error().message.find("\"c\""), std::string::npos) << many.error().message;
}

// ---- Several data files -------------------------------------------------------------------------

// Nine chunks of 16 bytes.
FileDescription chunks_in(std::int64_t files, std::vector<std::string> directories = {}) {
  return {
      .arrays = {{.name = "a",
                  .shape = shape_of({10, 10}),
                  .type = ElementKind::int8,
                  .chunk_extents = array::Indices({4, 4})}},
      .in_place = Placement{
          .layout = FileLayout::per_rank, .files = files, .directories = std::move(directories)}};
}

// The name of the array is the user's, and may be a link. Those of its files can be guessed: a link
// there may be another user's.
TEST(RawDataFiles, TakeThePlaceOfLinks) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const std::string precious = folder.path("precious");
  write_text(precious, "precious");
  std::filesystem::create_symlink(precious, path + ".0");
  std::filesystem::create_symlink(folder.path("nothing"), path + ".1");
  ASSERT_EQ(::mkfifo((path + ".2").c_str(), 0600), 0);
  ASSERT_TRUE(make_file(*raw_format(), chunks_in(3), path).ok());
  for (const char* const number : {".0", ".1", ".2"}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path + number)));
  }
  EXPECT_EQ(text_of(precious), "precious");
  EXPECT_FALSE(std::filesystem::exists(folder.path("nothing")));
}

// Every chunk has a slot of its own, and files end with their last one.
TEST(RawDataFiles, HaveTheChunksInTurn) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  for (const std::int64_t count : {1, 2, 4, 5, 9, 12}) {
    SCOPED_TRACE(count);
    ASSERT_TRUE(make_file(*raw_format(), chunks_in(count), path).ok());
    const auto opened = raw_format()->open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    const ExtentMap& map = opened.value().arrays.at(0).map;
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    std::vector<std::int64_t> ends(static_cast<std::size_t>(count), 0);
    for (std::int64_t chunk = 0; chunk < 9; ++chunk) {
      const auto place = map.chunks()->place_of(chunk).value();
      EXPECT_EQ(place.offset, chunk / count * 16);
      EXPECT_TRUE(places.insert({place.file, place.offset}).second);
      std::int64_t& end = ends.at(static_cast<std::size_t>(place.file));
      end = std::max(end, place.offset + 16);
    }
    for (std::int64_t file = 0; file < count; ++file) {
      EXPECT_EQ(map.files.path(file), path + "." + std::to_string(file));
      const auto bytes = std::filesystem::file_size(map.files.path(file));
      EXPECT_EQ(static_cast<std::int64_t>(bytes), ends.at(static_cast<std::size_t>(file)));
    }
  }
}

TEST(RawDataFiles, AreNewFilesWithoutAnEarlierChecksum) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  ASSERT_TRUE(make_file(*raw_format(), chunks_in(2), path).ok());
  std::filesystem::create_hard_link(path + ".0", path + ".kept");
  std::ofstream(path + ".kept") << "1234";
  std::ofstream(path + ".sums") << "of an earlier file";
  ASSERT_TRUE(make_file(*raw_format(), chunks_in(2), path).ok());
  EXPECT_FALSE(std::filesystem::exists(path + ".sums"));
  EXPECT_EQ(std::filesystem::file_size(path + ".kept"), 4U);
  EXPECT_EQ(std::filesystem::file_size(path + ".0"), 80U);
}

// A run that is killed before the document is written leaves no array.
TEST(RawDataFiles, AreNoFileWithoutTheirDocument) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  for (const bool shared : {true, false}) {
    FileDescription file = chunks_in(1);
    if (shared) file.in_place = Placement{};
    ASSERT_TRUE(make_file(*raw_format(), file, path).ok());
    ASSERT_TRUE(raw_format()->lay_out(file, path).ok());
    EXPECT_FALSE(open_any(path).ok());
    EXPECT_FALSE(open_in_place(path).ok());
  }
}

TEST(RawDataFiles, LieInSeveralDirectories) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  const FileDescription file = chunks_in(3, {folder.path("far"), "near"});
  EXPECT_FALSE(raw_format()->lay_out(file, path).ok());  // they have to be there
  std::filesystem::create_directory(folder.path("far"));
  std::filesystem::create_directory(folder.path("near"));
  ASSERT_TRUE(make_file(*raw_format(), file, path).ok());
  for (const char* const name : {"far/a.0", "near/a.1", "far/a.2"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path(name))) << name;
  }
  EXPECT_TRUE(raw_format()->open(path).ok());
  EXPECT_TRUE(raw_format()->unfinished(path).value().empty());
  const auto added = raw_format()->add(path, {.arrays = {}, .attributes = {{"", {{"a", "b"}}}}});
  ASSERT_FALSE(added.ok());
  EXPECT_NE(added.error().text().find("several data files"), std::string::npos);
  // What lies in the place of a data file may be something else by now.
  std::filesystem::remove(folder.path("near/a.1"));
  EXPECT_FALSE(raw_format()->open(path).ok());
  std::filesystem::create_directory(folder.path("near/a.1"));
  const auto folder_there = raw_format()->open(path);
  ASSERT_FALSE(folder_there.ok());
  EXPECT_EQ(folder_there.error().code, ErrorCode::corrupt);
}

TEST(RawDataFiles, AreRefusedWhereOneIsCutOff) {
  const TestFolder folder;
  const std::string path = folder.path("a");
  for (const char* const cut : {".0", ".2"}) {
    ASSERT_TRUE(make_file(*raw_format(), chunks_in(3), path).ok());
    std::filesystem::resize_file(path + cut, std::filesystem::file_size(path + cut) - 1);
    const auto opened = raw_format()->open(path);
    ASSERT_FALSE(opened.ok()) << cut;
    EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
    EXPECT_NE(opened.error().text().find(cut), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::storage
