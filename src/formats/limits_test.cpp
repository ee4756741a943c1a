// The fixed limits of what is read of files and of what is made: at each of them all is well, one
// past it is refused by name. docs/limits.md lists them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/crc32c.hpp"
#include "common/numbers_in_bytes.hpp"
#include "formats/cdf/cdf_format.hpp"
#include "formats/cdf/header.hpp"
#include "formats/element_json.hpp"
#include "formats/json.hpp"
#include "formats/json_of_others.hpp"
#include "formats/raw/raw_document.hpp"
#include "formats/raw/raw_file.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "formats/zarr/codec_json.hpp"
#include "formats/zarr/document.hpp"
#include "formats/zarr/shards.hpp"
#include "formats/zarr/store.hpp"
#include "formats/zarr/zarr_format.hpp"
#include "stored/file_description.hpp"
#include "system/incomplete.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::storage {
namespace {

constexpr const char* zarr_group = R"({"zarr_format": 3, "node_type": "group"})";

// A JSON document may end in any number of spaces.
std::string padded(std::string text, std::size_t bytes) {
  text.resize(bytes, ' ');
  return text;
}

// The error of a result or a status, "" where there is none.
template <typename Outcome>
std::string refusal(const Outcome& outcome) {
  return outcome.ok() ? "" : outcome.error().text();
}

#define EXPECT_REFUSED(outcome, words) \
  EXPECT_NE(refusal(outcome).find(words), std::string::npos) << (words) << ": " << refusal(outcome)

TEST(FillsOfText, HaveElementsOfAtMost4096Bytes) {
  constexpr std::int64_t most = 4096;
  for (const std::int64_t bytes : {most, most + 1}) {
    const auto text = array::ElementType::text(bytes).value();
    const auto fill = parse_fill_value(text, "YWI=");
    EXPECT_EQ(fill.has_value(), bytes == most);
    EXPECT_TRUE(!fill || static_cast<std::int64_t>(fill->size()) == bytes);
  }
  const auto utf32 = array::ElementType::utf32(most / 4).value();
  EXPECT_TRUE(parse_fill_value(utf32, "ab").has_value());
  EXPECT_FALSE(parse_fill_value(array::ElementType::utf32(most / 4 + 1).value(), "ab").has_value());
  // What JSON has comes back, as long as the element.
  for (const char* const told : {"", "YQ==", "YWI=", "YWJj"}) {
    const auto type = array::ElementType::text(3).value();
    EXPECT_EQ(fill_value_json(type, parse_fill_value(type, told).value()), told);
  }
  for (const char* const told : {"Y", "YQ=", "====", "Y===", "YQ==YQ==", "YWJjZA==", "\n"}) {
    EXPECT_FALSE(parse_fill_value(array::ElementType::text(3).value(), told)) << told;
  }
  const auto characters = array::ElementType::utf32(3).value();
  for (const char* const told : {"", "a", "\u00e4\u20ac\U0001f600"}) {
    EXPECT_EQ(fill_value_json(characters, parse_fill_value(characters, told).value()), told);
  }
  for (const char* const told : {"abcd", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xe2\x82"}) {
    EXPECT_FALSE(parse_fill_value(characters, told)) << told;
  }
}

TEST(LimitsOfFiles, ArraysAndGroups) {
  const FormatAbilities able = {.several_arrays = true, .groups = true, .dense = true};
  FileDescription file;
  for (int i = 0; i < 65536; ++i) {
    file.arrays.push_back({.name = "a" + std::to_string(i), .shape = shape_of({1})});
    file.groups.push_back({"g" + std::to_string(i)});
  }
  EXPECT_EQ(refusal(check_description(file, able, "any")), "");
  FileDescription beyond = file;
  beyond.groups.push_back({"one more"});
  EXPECT_REFUSED(check_description(beyond, able, "any"),
                 "65536 arrays and 65537 groups are defined in one file");
  beyond = std::move(file);
  beyond.arrays.push_back({.name = "one more", .shape = shape_of({1})});
  EXPECT_REFUSED(check_description(beyond, able, "any"),
                 "65537 arrays and 65536 groups are defined in one file");
}

// ---- NetCDF -------------------------------------------------------------------------------------

// A header of CDF-1 with one attribute: a name and a text.
std::vector<std::byte> cdf_header_with_name(std::int32_t bytes) {
  std::vector<std::byte> header = {std::byte{'C'}, std::byte{'D'}, std::byte{'F'}, std::byte{1}};
  for (const std::int32_t number : {0, 0, 0, 0x0C, 1, bytes}) append_big_endian(header, number);
  header.resize(header.size() + static_cast<std::size_t>((bytes + 3) / 4 * 4), std::byte{'n'});
  for (const std::int32_t number : {2, 0, 0, 0}) append_big_endian(header, number);
  return header;
}

TEST(LimitsOfCdf, BytesOfANameThatIsRead) {
  const auto parsed = [](std::int32_t bytes) {
    return parse_cdf_header(cdf_header_with_name(bytes), "a.nc").header;
  };
  ASSERT_EQ(refusal(parsed(4096)), "");
  EXPECT_EQ(parsed(4096).value().attributes.at(0).name, std::string(4096, 'n'));
  EXPECT_REFUSED(parsed(4097), "a name has 4097 bytes");
}

TEST(LimitsOfCdf, EntriesOfAList) {
  const auto parsed = [](std::int32_t dimensions) {
    std::vector<std::byte> header = {std::byte{'C'}, std::byte{'D'}, std::byte{'F'}, std::byte{1}};
    for (const std::int32_t number : {0, 0x0A, dimensions}) append_big_endian(header, number);
    for (std::int32_t i = 0; i < dimensions; ++i) {
      for (const std::int32_t number : {1, 'd' << 24, 2}) append_big_endian(header, number);
    }
    for (const std::int32_t number : {0, 0, 0, 0}) append_big_endian(header, number);
    return parse_cdf_header(header, "a.nc").header;
  };
  ASSERT_EQ(refusal(parsed(131072)), "");
  EXPECT_EQ(parsed(131072).value().dimensions.size(), 131072U);
  EXPECT_REFUSED(parsed(131073), "the list of dimensions has 131073 entries");
}

TEST(LimitsOfCdf, BytesOfAHeader) {
  const TestFolder folder;
  const std::string path = folder.path("a.nc");
  // The header's attribute is a hole of the file: zeros. An empty list of variables follows it.
  const auto opened = [&](std::int64_t header_bytes) {
    std::vector<std::byte> header = {std::byte{'C'}, std::byte{'D'}, std::byte{'F'}, std::byte{5}};
    append_big_endian(header, std::int64_t{0});  // records
    append_big_endian(header, std::int32_t{0});  // no dimensions
    append_big_endian(header, std::int64_t{0});
    append_big_endian(header, std::int32_t{0x0C});
    append_big_endian(header, std::int64_t{1});
    append_big_endian(header, std::int64_t{4});
    for (int i = 0; i < 4; ++i) header.push_back(std::byte{'n'});
    append_big_endian(header, std::int32_t{2});
    constexpr std::int64_t behind = 12;
    const std::int64_t text = header_bytes - behind - std::ssize(header) - 8;
    append_big_endian(header, text);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(header.data()), std::ssize(header));
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(header_bytes));
    return cdf_format(5)->open(path);
  };
  constexpr std::int64_t most = std::int64_t{1} << 28;
  EXPECT_EQ(refusal(opened(most)), "");
  EXPECT_REFUSED(opened(most + 4), "a.nc");
}

TEST(LimitsOfCdf, StepsOfVersionsWith32Bits) {
  const TestFolder folder;
  for (const int version : {1, 2, 5}) {
    const std::string path = folder.path("a.nc");
    const FileDescription file = {.arrays = {{.name = "a",
                                              .shape = shape_of({0}),
                                              .type = array::ElementKind::int8,
                                              .grows = true}}};
    ASSERT_TRUE(make_file(*cdf_format(version), file, path).ok());
    constexpr std::int64_t most = INT32_MAX;
    EXPECT_EQ(refusal(cdf_format(version)->make_room(path, most)), "") << version;
    if (version == 5) {
      EXPECT_EQ(refusal(cdf_format(version)->make_room(path, most + 1)), "");
    } else {
      EXPECT_REFUSED(cdf_format(version)->make_room(path, most + 1), "steps is 2147483648");
    }
  }
}

// ---- Zarr ---------------------------------------------------------------------------------------

TEST(LimitsOfZarr, BytesOfDocuments) {
  const TestFolder folder;
  const std::string path = folder.path("a.zarr");
  constexpr std::size_t root = std::size_t{1} << 26;
  write_text(path + "/zarr.json", padded(zarr_group, root));
  EXPECT_EQ(refusal(read_zarr_store(path)), "");
  write_text(path + "/zarr.json", padded(zarr_group, root + 1));
  EXPECT_REFUSED(read_zarr_store(path), "more than 67108864 bytes");
  constexpr std::size_t other = std::size_t{1} << 20;
  write_text(path + "/zarr.json", zarr_group);
  write_text(path + "/g/zarr.json", padded(zarr_group, other));
  EXPECT_EQ(refusal(read_zarr_store(path)), "");
  write_text(path + "/g/zarr.json", padded(zarr_group, other + 1));
  EXPECT_REFUSED(read_zarr_store(path), "more than 1048576 bytes");
}

TEST(LimitsOfZarr, ArraysAndGroupsOfAConsolidatedRoot) {
  const TestFolder folder;
  const std::string path = folder.path("a.zarr");
  write_text(path + "/zarr.json", R"({"zarr_format": 3, "node_type": "group",
    "consolidated_metadata": {"kind": "inline", "metadata": {"a": {}, "b": {}, "c": {}}}})");
  EXPECT_EQ(read_zarr_store(path, {.nodes = 3}).value().documents.size(), 4U);  // and the root
  EXPECT_REFUSED(read_zarr_store(path, {.nodes = 2}), "more than 2 arrays and groups");
}

TEST(LimitsOfZarr, WhatIsFoundInFolders) {
  const TestFolder folder;
  const std::string path = folder.path("a.zarr");
  write_text(path + "/zarr.json", zarr_group);
  for (const char* const name : {"/a", "/b", "/c"}) {
    write_text(path + name + "/zarr.json", zarr_group);
  }
  EXPECT_EQ(read_zarr_store(path, {.nodes = 3}).value().documents.size(), 4U);
  EXPECT_REFUSED(read_zarr_store(path, {.nodes = 2}), "more than 2 arrays and groups");
  // Three folders and the root's document, and a document in each.
  EXPECT_EQ(read_zarr_store(path, {.entries = 7}).value().documents.size(), 4U);
  EXPECT_REFUSED(read_zarr_store(path, {.entries = 6}), "more than 6 entries");
  EXPECT_EQ(ZarrLimits().nodes, 65536U);
  EXPECT_EQ(ZarrLimits().entries, std::size_t{1} << 20);
}

TEST(LimitsOfZarr, GroupsInEachOther) {
  const TestFolder folder;
  const std::string path = folder.path("a.zarr");
  write_text(path + "/zarr.json", zarr_group);
  std::string inner = path;
  for (int depth = 1; depth <= 32; ++depth) write_text((inner += "/g") + "/zarr.json", zarr_group);
  EXPECT_EQ(read_zarr_store(path).value().documents.size(), 33U);
  write_text(inner + "/g/zarr.json", zarr_group);
  EXPECT_REFUSED(read_zarr_store(path), "too deep");
}

ZarrArray in_shards(std::int64_t shards) {
  ZarrArray array{.description = {.name = "s",
                                  .shape = shape_of({2 * shards}),
                                  .type = array::ElementKind::int16,
                                  .chunk_extents = array::Indices{1},
                                  .shard_extents = array::Indices{2}}};
  return array;
}

TEST(LimitsOfZarr, ShardsOfAnArray) {
  EXPECT_EQ(refusal(zarr_shard_map(in_shards(65536), "a/")), "");
  EXPECT_REFUSED(zarr_shard_map(in_shards(65537), "a/"), "more than 65536 shards");
}

TEST(LimitsOfZarr, ChunksOfATable) {
  for (const bool encoded : {false, true}) {
    const TestFolder folder;
    const std::string path = folder.path("a.zarr");
    FileDescription file = {.arrays = {in_shards(2).description}};
    if (encoded) file.arrays[0].codecs = {Crc32cCodec{}};
    ASSERT_EQ(refusal(make_file(*zarr_format(), file, path)), "");
    // A shard of another program, whose chunks lie in another order.
    const std::array<std::uint64_t, 4> index = {2, 2, 0, 2};
    const std::uint32_t sum = crc32c(std::as_bytes(std::span(index)));
    std::string shard(4 + sizeof index + sizeof sum, '\0');
    std::memcpy(shard.data() + 4, index.data(), sizeof index);
    std::memcpy(shard.data() + 4 + sizeof index, &sum, sizeof sum);
    write_text(path + "/s/c.0", shard);
    const auto store = read_zarr_store(path);
    const auto parsed = parse_zarr_array(store.value().documents.at("s"), "s", {});
    const auto& array = std::get<ZarrArray>(parsed);
    const auto read = [&](auto... most) {
      auto map = zarr_shard_map(array, path + "/s/");
      return read_zarr_shards(array, map.value(), most...).value_or("");
    };
    // Without codecs all chunks of the array count, with codecs those that are there.
    const std::size_t chunks = encoded ? 2 : 4;
    EXPECT_EQ(read(), "");
    EXPECT_EQ(read(chunks), "");
    EXPECT_EQ(
        read(chunks - 1).find(encoded ? "it has more than 1 chunks" : "it has more than 3 chunks"),
        0U);
  }
  EXPECT_EQ(most_chunks_in_table, std::size_t{1} << 22);
}

TEST(LimitsOfZarr, ParametersOfACodec) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  const auto is_read = [](std::int64_t block_bytes) {
    return parse_zarr_codec("blosc", {{"blocksize", block_bytes}}).has_value();
  };
  EXPECT_TRUE(is_read(most));
  EXPECT_FALSE(is_read(most + 1));
}

// ---- Raw files ----------------------------------------------------------------------------------

TEST(LimitsOfRawFiles, StepsOfARecord) {
  const auto placed = [](std::int64_t steps) {
    return place_raw_arrays({.arrays = {{.name = "a",
                                         .shape = shape_of({1, 2}),
                                         .type = array::ElementKind::int8,
                                         .grows = true,
                                         .chunk_extents = array::Indices{steps, 2}}}});
  };
  EXPECT_EQ(refusal(placed(1 << 20)), "");
  EXPECT_REFUSED(placed((1 << 20) + 1), "over 1048576 steps");
}

// Lists in each other, as the value of an attribute, which is itself in `outer` objects and lists.
std::string nested(int levels, int outer) {
  const auto depth = static_cast<std::size_t>(levels - outer);
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(LimitsOfJson, LevelsOfADocument) {
  const TestFolder folder;
  const std::string zarr = folder.path("a.zarr");
  const auto placed = place_raw_arrays({.arrays = {{.name = "a", .shape = shape_of({2})}}});
  const std::string raw = raw_file_json(placed.value()).value();
  // There may be far more brackets than a stack has room for.
  for (const int levels : {64, 65, 200000}) {
    SCOPED_TRACE(std::to_string(levels) + " levels");
    const std::string words = levels == 64 ? "" : "64 levels";
    write_text(zarr + "/zarr.json",
               R"({"zarr_format": 3, "node_type": "group", "attributes": {"a": )" +
                   nested(levels, 2) + "}}");
    EXPECT_REFUSED(read_zarr_store(zarr), words);
    EXPECT_EQ(zarr_format()->open(zarr).ok(), levels == 64);
    write_text(
        zarr + "/zarr.json",
        R"({"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"metadata": {"x": )" +
            nested(levels, 3) + "}}}");
    EXPECT_REFUSED(read_zarr_store(zarr), words);
    std::string text = raw;
    text.insert(text.find_last_of('}'), ", \"groups\": [{\"name\": \"\", \"attributes\": {\"a\": " +
                                            nested(levels, 4) + "}}]");
    EXPECT_REFUSED(parse_raw_file(text, "a.json"), words);
  }
  EXPECT_EQ(most_json_levels, 64);
  // Brackets in texts are none.
  EXPECT_TRUE(
      parse_json("{\"" + std::string(100, '[') + "\\\"" + std::string(100, '{') + "\": 0}"));
}

TEST(LimitsOfJson, WordsOfOtherProgramsAreNumbersOutsideOfTexts) {
  const auto found = parse_json_of_others(R"({"NaN": [NaN, -Infinity,Infinity], "b": "\"NaN\\"})");
  ASSERT_TRUE(found);
  const auto& list = found->at("NaN");
  EXPECT_TRUE(std::isnan(list.at(0).get<double>()));
  EXPECT_EQ(list.at(1).get<double>(), -INFINITY);
  EXPECT_EQ(list.at(2).get<double>(), INFINITY);
  EXPECT_EQ(found->at("b"), "\"NaN\\");
  const auto again = parse_json_of_others(json_text_for_others(*found));
  ASSERT_TRUE(again);
  EXPECT_EQ(json_text_for_others(*again), json_text_for_others(*found));
  for (const char* const text :
       {"{\"a\": NaNa}", "{NaN: 1}", "{\"a\": +Infinity}", "[NaN", "NaN\""}) {
    EXPECT_FALSE(parse_json_of_others(text)) << text;
  }
  EXPECT_FALSE(parse_json("[NaN]"));
}

// A member is not looked for among all before it: by that, this would take most of an hour.
TEST(LimitsOfJson, MembersAreFoundAtOnce) {
  constexpr std::size_t members = 400000;
  std::string text = "{";
  for (std::size_t i = 0; i < members; ++i) text += "\"m" + std::to_string(i) + "\": 0, ";
  auto document = parse_json(text + R"("m7": 1})");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->size(), members);
  EXPECT_EQ(document->at("m7"), 1);  // the last one counts
  EXPECT_EQ(document->at("m399999"), 0);
  EXPECT_FALSE(document->contains("m400000"));
  EXPECT_EQ(document->erase("m0"), 1U);
  EXPECT_FALSE(document->contains("m0"));
  EXPECT_EQ(document->begin().key(), "m1");  // in their order
  Json other = *document;
  other["new"] = 2;
  EXPECT_EQ(other.at("new"), 2);
  EXPECT_FALSE(document->contains("new"));
}

TEST(LimitsOfRawFiles, BytesOfADocument) {
  const auto placed = place_raw_arrays({.arrays = {{.name = "a", .shape = shape_of({2})}}});
  const std::string text = raw_file_json(placed.value()).value();
  EXPECT_EQ(refusal(parse_raw_file(padded(text, most_raw_document_bytes), "a.json")), "");
  EXPECT_REFUSED(parse_raw_file(padded(text, most_raw_document_bytes + 1), "a.json"), "too long");
  // One that is made: what the attribute adds but for its letters is found by a short one.
  const auto made_bytes = [&](std::size_t letters) {
    RawFile file = placed.value();
    file.groups = {{"", {{"text", std::string(letters, 'a')}}}};
    return raw_file_json(file);
  };
  const std::size_t letters = most_raw_document_bytes - made_bytes(1).value().size() + 1;
  EXPECT_EQ(made_bytes(letters).value().size(), most_raw_document_bytes);
  EXPECT_REFUSED(made_bytes(letters + 1), "at most 67108864 are read");
}

TEST(LimitsOfRawFiles, FilesOfAnArray) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const auto placed = [](std::int64_t files) {
    return place_raw_arrays(
        {.arrays = {{.name = "a",
                     .shape = shape_of({2 * most}),
                     .type = array::ElementKind::int8,
                     .chunk_extents = array::Indices{1}}},
         .in_place = Placement{.layout = FileLayout::per_rank, .files = files}});
  };
  EXPECT_EQ(refusal(placed(most)), "");
  EXPECT_REFUSED(placed(most + 1), "give 1 to 1048576");
}

TEST(LimitsOfRawFiles, BytesOfADirectorysName) {
  EXPECT_EQ(refusal(check_directory_name(std::string(3072, 'd'))), "");
  EXPECT_REFUSED(check_directory_name(std::string(3073, 'd')), "its name is too long");
}

// ---- Names of files -----------------------------------------------------------------------------

TEST(LimitsOfPaths, LinksToAFile) {
  const TestFolder folder;
  write_text(folder.path("link0"), "a file");
  for (int i = 1; i <= 41; ++i) {
    std::filesystem::create_symlink("link" + std::to_string(i - 1),
                                    folder.path("link" + std::to_string(i)));
  }
  EXPECT_EQ(committed_path(folder.path("link40")), folder.path("link0"));
  // The system follows no more either: who opens link41 is told so.
  EXPECT_EQ(committed_path(folder.path("link41")), folder.path("link1"));
  EXPECT_FALSE(std::ifstream(folder.path("link41")).is_open());
}

}  // namespace
}  // namespace weir::storage
