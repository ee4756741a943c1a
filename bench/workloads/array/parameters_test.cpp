#include "workloads/array/parameters.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::bench::array_io {
namespace {

Settings settings(const std::vector<std::string>& arguments) {
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  auto resolved = resolve_settings("weir-bench array", "", declarations(), arguments, none);
  EXPECT_TRUE(resolved) << (resolved ? "" : resolved.error().message);
  return std::move(resolved).value().settings;
}

// The line that refuses the arguments on 4 ranks; empty when they are taken.
std::string refusal(const std::vector<std::string>& arguments) {
  const Settings given = settings(arguments);
  const auto core = core_settings_of(given);
  if (!core) return core.error().message;
  const auto geometry = geometry_of(given, 4);
  if (!geometry) return geometry.error().message;
  const auto options = options_of(given, geometry.value());
  if (!options) return options.error().message;
  const auto variants = variants_of(given, options.value().peak);
  if (!variants) return variants.error().message;
  const Status fits =
      check_combination(geometry.value(), options.value(), core.value(), variants.value());
  return fits ? "" : fits.error().message;
}

TEST(ArrayParameters, DefaultsAreAWholeArrayWrittenAndRead) {
  const Settings given = settings({});
  const Geometry geometry = geometry_of(given, 4).value();
  const Options options = options_of(given, geometry).value();
  EXPECT_TRUE(options.write);
  EXPECT_TRUE(options.read);
  EXPECT_FALSE(geometry.is_section());
  EXPECT_EQ(geometry.writing.grid().extents, (array::Indices{2, 2}));
  EXPECT_EQ(geometry.reading.grid().extents, (array::Indices{2, 2}));
  EXPECT_FALSE(options.chunk);
}

TEST(ArrayParameters, ReadingCanBeOtherwise) {
  const Settings given = settings({"--shape", "64x64", "--read-distribution", "*,BLOCK"});
  const Geometry geometry = geometry_of(given, 4).value();
  EXPECT_EQ(geometry.writing.grid().extents, (array::Indices{2, 2}));
  EXPECT_EQ(geometry.reading.grid().extents, (array::Indices{1, 4}));
  const Settings fewer = settings({"--shape", "64x64", "--read-grid", "1x2"});
  EXPECT_EQ(geometry_of(fewer, 4).value().reading.ranks(), 2);
}

TEST(ArrayParameters, ChunksAreGivenInThreeWays) {
  const auto chunk = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--shape", "100x60", "--api", "hdf5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Settings given = settings(arguments);
    return options_of(given, geometry_of(given, 4).value()).value().chunk.value();
  };
  EXPECT_EQ(chunk({"--chunk", "30x20"}), (array::Indices{30, 20}));
  EXPECT_EQ(chunk({"--chunk", "natural"}), (array::Indices{50, 30}));
  EXPECT_EQ(chunk({"--chunk-counts", "10x7"}), (array::Indices{10, 9}));
}

TEST(ArrayParameters, PeakIsAConfigurationOfItsOwn) {
  const auto variants = variants_of(settings({"--api", "posix,mpiio"}), true).value();
  ASSERT_EQ(variants.size(), 3U);
  EXPECT_TRUE(variants.back().contiguous);
}

struct Refused {
  std::vector<std::string> arguments;
  const char* says;
};

TEST(ArrayParameters, WhatCannotBeIsRefusedByName) {
  const std::vector<Refused> all{
      {{"--shape", "10x-3"}, "--shape: '10x-3'"},
      {{"--shape", "0x4"}, "--shape 0x4"},
      {{"--shape", "1tx1tx1t"}, "--shape"},
      {{"--type", "float65"}, "--type float65"},
      {{"--distribution", "BLOK"}, "--distribution BLOK"},
      {{"--distribution", "BLOCK,BLOCK,BLOCK"}, "3 formats for 2 dimensions"},
      {{"--grid", "3x2"}, "--grid 3 x 2"},
      {{"--grid", "3x0"}, "cannot be divided"},
      {{"--section", "0:10"}, "--section 0:10"},
      {{"--section", "0:10,0:9", "--half-section"}, "give one"},
      {{"--chunk", "8x8", "--api", "mpiio"}, "mpiio cannot store chunks"},
      {{"--chunk", "8x8", "--chunk-counts", "2x2", "--api", "hdf5"}, "give one of them"},
      {{"--chunk", "8x8x8", "--api", "hdf5"}, "--chunk 8x8x8"},
      {{"--strategy", "direct", "--api", "posix"}, "--strategy applies only to weir"},
      {{"--explain"}, "--explain applies only to weir"},
      {{"--ranks-per-node", "2"}, "--ranks-per-node applies only to weir"},
      {{"--io-groups", "2"}, "--io-groups applies only to weir"},
      {{"--placement", "first"}, "--placement applies only to weir"},
      {{"--layout", "per-rank"}, "--layout applies only to weir"},
      {{"--layout", "per-rank", "--api", "weir"},
       "--layout per-rank: only chunks can be distributed"},
      {{"--directory", "a,b", "--api", "weir,mpiio"}, "--directory: weir writes one file"},
      {{"--directory", "a,b", "--api", "posix"}, "--directory: posix writes one file"},
      {{"--directory", "a,,b"}, "one of the names is empty"},
      {{"--directory", "a,./a"}, "./a is given twice"},
      {{"--file-order", "column-major"}, "--file-order applies only to weir"},
      {{"--hints", "file", "--api", "posix"}, "--hints applies only to"},
      {{"--aggregators", "2", "--api", "posix"}, "posix has neither"},
      {{"--distribution", "CYCLIC(8)", "--api", "pnetcdf"}, "--distribution: pnetcdf"},
      {{"--distribution", "CYCLIC(8)", "--half-section"}, "--section: mpiio"},
      {{"--api", "posix,posix"}, "is given twice"},
      {{"--engine", "null", "--api", "weir"}, "what is dropped cannot be checked: add --no-verify"},
      {{"--engine", "null", "--api", "weir-hdf5", "--no-verify", "--chunk", "64x64", "--codec",
        "zstd:1"},
       "--engine null: chunks with a codec are stored"},
      {{"--direct"}, "--direct"},
      {{"--rank-shift", "1"}, "--rank-shift"},
  };
  for (const Refused& one : all) {
    const std::string line = refusal(one.arguments);
    EXPECT_NE(line.find(one.says), std::string::npos) << one.says << "; said: " << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(ArrayParameters, WhatCanBeIsTaken) {
  const std::vector<std::vector<std::string>> all{
      {"--distribution", "CYCLIC(32)", "--api", "mpiio,posix,hdf5"},
      {"--half-section", "--api", "mpiio,mpiio-independent,hdf5,pnetcdf,posix", "--peak"},
      {"--type", "record[24]", "--shape", "1kx7x3"},
      {"--section", "0:9:2,3:8", "--api", "mpiio,hdf5,pnetcdf,posix,weir"},
      {"--directory", "a,b,c", "--api", "weir", "--layout", "per-rank", "--chunk", "64x64",
       "--peak"},
      {"--chunk", "natural", "--api", "hdf5", "--aggregators", "2", "--buffer", "1m"},
      {"--engine", "null", "--api", "weir,weir-zarr", "--no-verify"},
      {"--io-groups", "discover", "--api", "weir"},
      {"--io-groups", "description:groups.toml", "--api", "weir"},
  };
  for (const auto& arguments : all) EXPECT_EQ(refusal(arguments), "") << arguments[1];
}

}  // namespace
}  // namespace weir::bench::array_io
