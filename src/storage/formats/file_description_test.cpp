#include "storage/formats/file_description.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace weir::storage {
namespace {

constexpr FormatAbilities everything = {.several_arrays = true,
                                        .groups = true,
                                        .attributes = true,
                                        .dimension_names = true,
                                        .dense = true,
                                        .chunks = true,
                                        .shards = true,
                                        .growing = true,
                                        .column_major_chunks = true,
                                        .fill = true};

FileDescription good() {
  return {.arrays = {{.name = "fields/u",
                      .shape = array::Shape::create({10, 20}).value(),
                      .grows = true,
                      .chunk_extents = array::Indices{1, 5},
                      .shard_extents = array::Indices{1, 20},
                      .dimension_names = {"time", "x"},
                      .fill = std::vector<std::byte>(8),
                      .attributes = {{"units", "m s-1"}}},
                     {.name = "x",
                      .shape = array::Shape::create({20}).value(),
                      .dimension_names = {"x"}}},
          .groups = {{"", {{"title", "test"}}}, {"fields/more", {}}}};
}

TEST(FileDescription, GroupsAboveComeFirst) {
  EXPECT_TRUE(check_description(good(), everything, "any").ok());
  EXPECT_EQ(all_groups(good()), (std::vector<std::string>{"fields", "fields/more"}));
  EXPECT_EQ(group_of("a/b/c"), "a/b");
  EXPECT_EQ(group_of("a"), "");
  EXPECT_EQ(last_part("a/b/c"), "c");
}

TEST(FileDescription, RefusesWhatCannotBe) {
  using Change = std::function<void(FileDescription&)>;
  const std::vector<Change> changes = {
      [](auto& file) { file.arrays[0].name = ""; },
      [](auto& file) { file.arrays[0].name = "/u"; },
      [](auto& file) { file.arrays[0].name = "a/../u"; },
      [](auto& file) { file.arrays[0].name = "a\nb"; },
      [](auto& file) { file.arrays[0].name = std::string(300, 'a'); },
      [](auto& file) { file.arrays[0].name = "x"; },
      [](auto& file) { file.arrays[0].name = "x/u"; },
      [](auto& file) { file.arrays[0].dimension_names = {"x"}; },
      [](auto& file) {
        file.arrays[0].dimension_names = {"x", "time"};
      },
      [](auto& file) { file.arrays[0].order = array::Order::column_major; },
      [](auto& file) { file.arrays[0].chunk_extents = array::Indices{1}; },
      [](auto& file) {
        file.arrays[0].chunk_extents = array::Indices{0, 5};
      },
      [](auto& file) {
        file.arrays[0].chunk_extents = array::Indices{std::int64_t{1} << 40, std::int64_t{1} << 40};
      },
      [](auto& file) { file.arrays[0].chunk_extents.reset(); },
      [](auto& file) {
        file.arrays[0].shard_extents = array::Indices{1, 7};
      },
      [](auto& file) { file.arrays[0].fill.pop_back(); },
      [](auto& file) {
        file.arrays[0].attributes.push_back({"units", "again"});
      },
      [](auto& file) {
        file.arrays[0].attributes.push_back({"a/b", "slash"});
      },
      [](auto& file) {
        file.arrays[0].attributes.push_back({"big", std::string(70000, 'x')});
      },
      [](auto& file) {
        file.groups.push_back({"", {}});
      },
      [](auto& file) { file.alignment = -1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    FileDescription file = good();
    changes[i](file);
    EXPECT_FALSE(check_description(file, everything, "any").ok()) << i;
  }
}

TEST(FileDescription, LargeArraysLieAtLargeBlocks) {
  constexpr std::int64_t mebibyte = 1 << 20;
  EXPECT_EQ(alignment_of(0, 100), 1);
  EXPECT_EQ(alignment_of(0, (64 << 10) - 1), 1);
  EXPECT_EQ(alignment_of(0, 64 << 10), 4096);
  EXPECT_EQ(alignment_of(0, 16 * mebibyte + 5), mebibyte);
  EXPECT_EQ(alignment_of(0, 32 * mebibyte), 2 * mebibyte);
  EXPECT_EQ(alignment_of(0, INT64_MAX), 2 * mebibyte);
  EXPECT_EQ(alignment_of(1, 32 * mebibyte), 1);
  EXPECT_EQ(alignment_of(100, 100), 100);
  EXPECT_EQ(alignment_of(100, 99), 1);
}

TEST(FileDescription, RefusesWhatTheFormatLacks) {
  const std::vector<std::pair<bool FormatAbilities::*, std::string>> lacks = {
      {&FormatAbilities::several_arrays, "2 arrays"},
      {&FormatAbilities::groups, "groups"},
      {&FormatAbilities::attributes, "attributes"},
      {&FormatAbilities::dimension_names, "dimension names"},
      {&FormatAbilities::chunks, "chunks"},
      {&FormatAbilities::shards, "shards"},
      {&FormatAbilities::growing, "grow"},
      {&FormatAbilities::fill, "fill"}};
  for (const auto& [ability, named] : lacks) {
    FormatAbilities able = everything;
    able.*ability = false;
    const Status status = check_description(good(), able, "small");
    ASSERT_FALSE(status.ok()) << named;
    EXPECT_NE(status.error().text().find(named), std::string::npos) << status.error().text();
    EXPECT_NE(status.error().text().find("small"), std::string::npos) << status.error().text();
  }
}

}  // namespace
}  // namespace weir::storage
