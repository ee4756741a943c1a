#include "stored/file_description.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "formats/dimension_names.hpp"
#include "formats/test_description.hpp"

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

// ---- Names of dimensions ------------------------------------------------------------------------

using Names = std::vector<std::string>;

std::vector<Names> named(std::vector<ArrayDescription> arrays) {
  std::vector<Names> names;
  const FileDescription all = with_dimension_names({.arrays = std::move(arrays)});
  names.reserve(all.arrays.size());
  for (const ArrayDescription& one : all.arrays) names.push_back(one.dimension_names);
  return names;
}

TEST(DimensionNames, AreMadeByLengthWhereThereAreNone) {
  EXPECT_EQ(named({{.name = "a", .shape = shape_of({5, 7, 5})},
                   {.name = "b", .shape = shape_of({1, 5, 1}), .grows = true},
                   {.name = "c", .shape = shape_of({7}), .dimension_names = {"x"}}}),
            (std::vector<Names>{{"dim_5", "dim_7", "dim_5_2"}, {"step", "dim_5", "dim_1"}, {"x"}}));
}

TEST(DimensionNames, DoNotCollideWithThoseThatAreTaken) {
  EXPECT_EQ(named({{.name = "fixed", .shape = shape_of({10}), .dimension_names = {"step"}},
                   {.name = "t", .shape = shape_of({3, 4}), .grows = true},
                   {.name = "b", .shape = shape_of({7}), .dimension_names = {"dim_5"}},
                   {.name = "c", .shape = shape_of({5})},
                   {.name = "d", .shape = shape_of({5}), .dimension_names = {"dim_5_3"}},
                   {.name = "dim_4", .shape = shape_of({2})},
                   {.name = "dim_2/u", .shape = shape_of({2})}}),
            (std::vector<Names>{{"step"},
                                {"step_2", "dim_4_2"},
                                {"dim_5"},
                                {"dim_5_2"},
                                {"dim_5_3"},
                                {"dim_2_2"},
                                {"dim_2_2"}}));
}

TEST(DimensionNames, OfStepsAreThoseOfAnArrayThatNamesThem) {
  EXPECT_EQ(
      named(
          {{.name = "a", .shape = shape_of({3, 4}), .grows = true},
           {.name = "b", .shape = shape_of({3, 4}), .grows = true, .dimension_names = {"time", ""}},
           {.name = "c", .shape = shape_of({2}), .grows = true}}),
      (std::vector<Names>{{"time", "dim_4"}, {"time", "dim_4"}, {"step"}}));
}

}  // namespace
}  // namespace weir::storage
