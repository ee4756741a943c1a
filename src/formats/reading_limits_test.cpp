#include "formats/reading_limits.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "codecs/codec.hpp"
#include "formats/cdf/cdf_format.hpp"
#include "formats/format.hpp"
#include "formats/open_any.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "formats/zarr/zarr_format.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::storage {
namespace {

Result<ReadingLimits> limits_of(std::map<std::string, std::string> variables) {
  return reading_limits([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

// Sets a variable of this process until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    ::setenv(name, value, 1);  // NOLINT(concurrency-mt-unsafe): there are no other threads
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }  // NOLINT(concurrency-mt-unsafe)

 private:
  const char* name_;
};

std::string reason_of(const Result<OpenedFile>& opened, const std::string& array) {
  if (!opened) return opened.error().text();
  for (const RefusedArray& one : opened.value().map.refused) {
    if (one.name == array) return one.reason;
  }
  return "";
}

TEST(ReadingLimits, HaveDefaultsAndAreChecked) {
  const auto usual = limits_of({});
  ASSERT_TRUE(usual.ok());
  EXPECT_EQ(usual.value().header.time, SandboxLimits().time);
  EXPECT_EQ(usual.value().header.more_memory, SandboxLimits().more_memory);
  EXPECT_EQ(usual.value().chunk_bytes, (std::int64_t{1} << 32) - 1);
  const auto others = limits_of({{"WEIR_READ_SECONDS", "0.5"},
                                 {"WEIR_READ_BYTES", "1m"},
                                 {"WEIR_READ_CHUNK_BYTES", "64k"},
                                 {"WEIR_SETTINGS", "/no such file"}});
  ASSERT_TRUE(others.ok()) << others.error().text();
  EXPECT_EQ(others.value().header.time.count(), 500);
  EXPECT_EQ(others.value().header.more_memory, std::size_t{1} << 20);
  EXPECT_EQ(others.value().chunk_bytes, 1 << 16);
  EXPECT_TRUE(limits_of({{"WEIR_READ_SECONDS", "1000000"}}).ok());
  for (const auto& [name, value] : {std::pair("WEIR_READ_SECONDS", "0"),
                                    {"WEIR_READ_SECONDS", "1000001"},
                                    {"WEIR_READ_SECONDS", "soon"},
                                    {"WEIR_READ_BYTES", "1048575"},
                                    {"WEIR_READ_BYTES", "-1"},
                                    {"WEIR_READ_CHUNK_BYTES", "0"},
                                    {"WEIR_READ_CHUNK_BYTES", "much"}}) {
    const auto refused = limits_of({{name, value}});
    ASSERT_FALSE(refused.ok()) << name << "=" << value;
    EXPECT_NE(refused.error().text().find(name), std::string::npos) << refused.error().text();
  }
}

TEST(ReadingLimits, AreThoseOfTheEnvironmentWhenAFileIsOpened) {
  if (!find_format("hdf5")) GTEST_SKIP() << "a build without HDF5";
  const TestFolder folder;
  const std::string path = folder.path("a.h5");
  FileDescription file;
  for (int i = 0; i < 1000; ++i) {  // which takes several milliseconds to read
    file.arrays.push_back({.name = "a" + std::to_string(i), .shape = shape_of({2})});
  }
  ASSERT_TRUE(make_file(*find_format("hdf5").value(), file, path).ok());
  EXPECT_TRUE(open_within_limits(path).ok());
  {
    const Variable variable("WEIR_READ_SECONDS", "0.001");
    EXPECT_NE(reason_of(open_within_limits(path), "a").find("more than 1 ms"), std::string::npos);
  }
  const Variable variable("WEIR_READ_SECONDS", "never");
  EXPECT_NE(reason_of(open_within_limits(path), "a").find("WEIR_READ_SECONDS"), std::string::npos);
}

TEST(ReadingLimits, LargerChunksAreRefusedByName) {
  const TestFolder folder;
  const std::string path = folder.path("a.zarr");
  FileDescription file = {.arrays = {{.name = "plain",
                                      .shape = shape_of({64}),
                                      .type = array::ElementKind::float64,
                                      .chunk_extents = array::Indices{64}},
                                     {.name = "coded",
                                      .shape = shape_of({64}),
                                      .type = array::ElementKind::float64,
                                      .chunk_extents = array::Indices{8}}}};
  file.arrays[1].codecs = {Crc32cCodec{}};
  ASSERT_TRUE(make_file(*zarr_format(), file, path).ok());
  {
    const Variable variable("WEIR_READ_CHUNK_BYTES", "64");
    EXPECT_EQ(reason_of(open_within_limits(path), "coded"), "");
  }
  const Variable variable("WEIR_READ_CHUNK_BYTES", "63");
  const auto opened = open_within_limits(path);
  EXPECT_NE(reason_of(opened, "coded").find("a chunk has 64 bytes when it is decoded"),
            std::string::npos);
  // Any part of a plain chunk is read by itself.
  ASSERT_TRUE(opened.ok());
  EXPECT_NE(opened.value().map.find("plain"), nullptr);
}

// Three links to one shard whose index has 1 MiB: as long as all three fit, the array is read.
TEST(ReadingLimits, IndicesOfShardsCountTogether) {
  const TestFolder folder;
  const std::string path = folder.path("a.zarr");
  constexpr std::int64_t chunks = 1 << 16;
  const FileDescription file = {.arrays = {{.name = "s",
                                            .shape = shape_of({3 * chunks}),
                                            .type = array::ElementKind::int8,
                                            .chunk_extents = array::Indices{1},
                                            .shard_extents = array::Indices{chunks}}}};
  ASSERT_TRUE(make_file(*zarr_format(), file, path).ok());
  for (const char* const other : {"/s/c/1", "/s/c/2", "/s/c.1", "/s/c.2"}) {
    if (!std::filesystem::exists(path + other)) continue;
    std::string first = path + other;
    first.back() = '0';
    std::filesystem::remove(path + other);
    std::filesystem::create_hard_link(first, path + other);
  }
  const std::string three = std::to_string(3 * (16 * chunks + 4));
  const std::string less = std::to_string(3 * (16 * chunks + 4) - 1);
  {
    const Variable variable("WEIR_READ_BYTES", three.c_str());
    EXPECT_EQ(reason_of(open_within_limits(path), "s"), "");
  }
  const Variable variable("WEIR_READ_BYTES", less.c_str());
  EXPECT_NE(reason_of(open_within_limits(path), "s").find("WEIR_READ_BYTES"), std::string::npos);
  // A shard that is missing has no index.
  std::filesystem::remove(path + "/s/c/2");
  std::filesystem::remove(path + "/s/c.2");
  EXPECT_EQ(reason_of(open_within_limits(path), "s"), "");
}

// If WEIR_READ_BYTES is 1 MiB, documents may have a 32nd of it together.
TEST(ReadingLimits, DocumentsOfAZarrFolderCountTogether) {
  const TestFolder folder;
  const std::string path = folder.path("a.zarr");
  std::string group = R"({"zarr_format": 3, "node_type": "group"})";
  write_text(path + "/zarr.json", group);
  group.resize(15000, ' ');
  write_text(path + "/a/zarr.json", group);
  for (const char* const other : {"/b", "/c"}) {
    std::filesystem::create_directory(path + other);
    std::filesystem::create_hard_link(path + "/a/zarr.json", path + other + "/zarr.json");
  }
  EXPECT_EQ(reason_of(open_within_limits(path), ""), "");
  const Variable variable("WEIR_READ_BYTES", "1m");
  EXPECT_NE(reason_of(open_within_limits(path), "").find("WEIR_READ_BYTES"), std::string::npos);
  std::filesystem::remove(path + "/c/zarr.json");
  EXPECT_EQ(reason_of(open_within_limits(path), ""), "");
}

TEST(ReadingLimits, DocumentOfARawFile) {
  const TestFolder folder;
  const std::string path = folder.path("a.raw");
  const FileDescription file = {.arrays = {{.name = "a", .shape = shape_of({2})}}};
  ASSERT_TRUE(make_file(*find_format("raw").value(), file, path).ok());
  std::string document = text_of(path + ".json");
  const Variable variable("WEIR_READ_BYTES", "1m");
  document.resize(32768, ' ');
  write_text(path + ".json", document);
  EXPECT_EQ(reason_of(open_within_limits(path), ""), "");
  write_text(path + ".json", document + " ");
  EXPECT_NE(reason_of(open_within_limits(path), "").find("more than 32768 bytes"),
            std::string::npos);
}

TEST(ReadingLimits, MemoryOfANetcdfHeader) {
  const TestFolder folder;
  const auto opened = [&](int arrays) {
    const std::string path = folder.path("a.nc");
    FileDescription file;
    for (int i = 0; i < arrays; ++i) {
      file.arrays.push_back({.name = "a" + std::to_string(i), .shape = shape_of({2})});
    }
    EXPECT_TRUE(make_file(*cdf_format(5), file, path).ok());
    return reason_of(open_within_limits(path), "");
  };
  EXPECT_EQ(opened(200), "");
  const Variable variable("WEIR_READ_BYTES", "1m");
  EXPECT_EQ(opened(100), "");
  EXPECT_NE(opened(200).find("more than 1048576 bytes of memory"), std::string::npos);
}

}  // namespace
}  // namespace weir::storage
