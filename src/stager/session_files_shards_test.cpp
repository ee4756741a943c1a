// Chunks of Zarr arrays in shards, which a stager encodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "array/layout.hpp"
#include "array/section.hpp"
#include "formats/file_map_message.hpp"
#include "formats/format.hpp"
#include "sections/read_section.hpp"
#include "stager/session_files.hpp"
#include "system/test_folder.hpp"
#include "system/test_text.hpp"

namespace weir::stager {
namespace {

// Four rows of six elements: two shards of two rows, whose chunks have two elements each.
class SessionFilesInShards : public testing::TestWithParam<int> {
 protected:
  using Change = std::function<void(storage::ExtentMap&, storage::EncodedChunks&)>;
  static constexpr std::int64_t element_bytes = 8;
  static constexpr std::int64_t in_shard = 12;

  void SetUp() override {
    const storage::ArrayDescription one{.name = "a",
                                        .shape = array::Shape::create(array::Indices{4, 6}).value(),
                                        .chunk_extents = array::Indices{1, 2},
                                        .shard_extents = array::Indices{2, 6},
                                        .codecs = {storage::Crc32cCodec{}}};
    auto room =
        storage::find_format("zarr").value()->lay_out({.arrays = {one}}, folder_.path("f.zarr"));
    ASSERT_TRUE(room.ok()) << room.error().text();
    map_ = std::move(room).value().map;
  }
  // Writes elements as one job, from the values that they are to have.
  Status write(std::int64_t first, std::int64_t count, const Change& change = {}) {
    SessionFiles files(memory_, std::ssize(memory_), nullptr, nullptr, WritesBy::page_cache,
                       GetParam());
    return write_by(files, first, count, change);
  }
  Status write_by(SessionFiles& files, std::int64_t first, std::int64_t count,
                  const Change& change = {}) {
    storage::FileMap map = map_;
    storage::ExtentMap& described = map.arrays.front().map;
    if (change) change(described, std::get<storage::EncodedChunks>(described.extents));
    for (std::size_t i = 0; i < values_.size(); ++i) {
      std::memcpy(memory_.data() + i * element_bytes, &values_[i], element_bytes);
    }
    const transport::NameFile named{.file = 1,
                                    .path = "f.zarr:a",
                                    .bytes_when_made = 0,
                                    .known = std::nullopt,
                                    .encoded = storage::message_of(map)};
    Status written = files.execute(Write{.job = 1,
                                         .session = 1,
                                         .files = {named},
                                         .extents = {{.block = 0,
                                                      .at = first * element_bytes,
                                                      .bytes = count * element_bytes,
                                                      .file = 0,
                                                      .offset = first * element_bytes}}});
    const auto sealed = files.execute(Seal{.job = 2, .session = 1, .step = {}});
    return written.ok() && !sealed ? Status(sealed.error()) : written;
  }
  [[nodiscard]] std::vector<double> found() const {
    const storage::StoredArray& one = map_.arrays.front();
    const array::Section all = array::Section::of(one.map.shape.box());
    const auto layout = array::Layout::packed(all.count, 8, array::Order::row_major).value();
    std::vector<double> found(values_.size(), -1);
    storage::DataFileCache cache(storage::DataFileCache::Use::reading);
    const Status read = storage::read_section(
        one, all, std::as_writable_bytes(std::span(found)).data(), layout, cache);
    EXPECT_TRUE(read.ok()) << read.error().text();
    return found;
  }
  [[nodiscard]] std::string shard(std::int64_t number) const {
    return map_.arrays.front().map.files.path(number);
  }
  void set_values(double first) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = first + static_cast<double>(i);
  }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }

 private:
  storage::TestFolder folder_;
  storage::FileMap map_;
  std::vector<double> values_ = std::vector<double>(24);
  std::vector<std::byte> memory_ = std::vector<std::byte>(24 * element_bytes);
};

TEST_P(SessionFilesInShards, KeepTheOtherChunksOfAShard) {
  set_values(1);
  ASSERT_TRUE(write(0, 24).ok());
  EXPECT_EQ(found(), values());
  std::vector<double> expected = values();
  set_values(100);
  // Each begins and ends within a chunk; the second one is in both shards.
  for (const auto& [first, count] : {std::pair{3, 2}, std::pair{9, 8}}) {
    const Status written = write(first, count);
    ASSERT_TRUE(written.ok()) << written.error().text();
    for (int i = first; i < first + count; ++i) expected.at(static_cast<std::size_t>(i)) = 100 + i;
    EXPECT_EQ(found(), expected);
  }
}

TEST_P(SessionFilesInShards, CompleteAShardThatComesInSeveralJobsOfAStep) {
  set_values(1);
  std::vector<double> expected(values().size(), 0);
  // A stager that was killed has left this.
  storage::write_text(shard(0) + ".new", "a part of a shard");
  for (std::int64_t first = 0; first < std::ssize(values()); first += 5) {
    const std::int64_t count = std::min<std::int64_t>(5, std::ssize(values()) - first);
    const Status written = write(first, count);
    ASSERT_TRUE(written.ok()) << written.error().text();
    for (std::int64_t i = first; i < first + count; ++i) {
      expected.at(static_cast<std::size_t>(i)) = values().at(static_cast<std::size_t>(i));
    }
    EXPECT_EQ(found(), expected);
  }
  for (const std::int64_t number : {0, 1}) {
    EXPECT_FALSE(std::filesystem::exists(shard(number) + ".new"));
  }
}

TEST_P(SessionFilesInShards, RefuseToAddToAShardWhoseIndexIsDamaged) {
  set_values(1);
  ASSERT_TRUE(write(0, 24).ok());
  std::string damaged = storage::text_of(shard(1));
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  storage::write_text(shard(1), damaged);
  const Status written = write(in_shard, 2);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().text().find("does not have its checksum"), std::string::npos)
      << written.error().text();
  EXPECT_EQ(storage::text_of(shard(1)), damaged);
  EXPECT_FALSE(std::filesystem::exists(shard(1) + ".new"));
}

// A rank may send anything.
TEST_P(SessionFilesInShards, RefuseImpossibleDescriptions) {
  using storage::EncodedChunks;
  using storage::ExtentMap;
  const auto in_shards = [](const std::function<void(storage::EncodedShards&)>& change) -> Change {
    return [change](ExtentMap& /*map*/, EncodedChunks& chunks) {
      change(std::get<storage::EncodedShards>(chunks.places));
    };
  };
  const auto in_files = [](const std::function<void(storage::DataFiles::Parts&)>& change) {
    return Change([change](ExtentMap& map, EncodedChunks& /*chunks*/) {
      auto parts = map.files.parts();
      change(parts);
      map.files = storage::DataFiles::of(std::move(parts));
    });
  };
  const auto per_shard = [&](const array::Indices& chunks) {
    return in_shards([chunks](auto& shards) { shards.chunks_per_shard = chunks; });
  };
  const auto number = [&](const array::Indices& shards) {
    return in_shards([shards](auto& all) { all.shards = shards; });
  };
  const auto in_grid = [&](const array::Indices& counts, std::int64_t files) {
    return in_files([counts, files](auto& parts) {
      parts.counts = counts;
      parts.files = files;
    });
  };
  // The array is so wide that a row of its shards has more than 64 MiB.
  const Change wide = [](ExtentMap& map, EncodedChunks& chunks) {
    const std::int64_t width = (std::int64_t{64} << 20) / element_bytes + 2;
    map.shape = array::Shape::create(array::Indices{4, width}).value();
    chunks.grid = array::ChunkGrid::create(map.shape, array::Indices{1, width}).value();
    chunks.stored_extents = {1, width};
    std::get<storage::EncodedShards>(chunks.places).chunks_per_shard = {2, 1};
  };
  const std::vector<Change> impossible = {
      per_shard({0, 3}),
      per_shard({2}),
      per_shard({2, 3, 1}),
      per_shard({-2, -3}),
      per_shard({2, INT64_MAX}),
      per_shard({INT64_MAX, INT64_MAX}),
      per_shard({1 << 20, 3}),
      number({2}),
      number({3, 1}),
      number({-2, -1}),
      number({0, 1}),
      in_shards([](auto& shards) {
        shards.table = storage::EncodedTable({{0, {.file = 0, .offset = 0, .bytes = 1}}});
      }),
      in_grid({2, 1}, 3),
      in_grid({3, 1}, 2),
      in_grid({0, 1}, 2),
      in_grid({-2, -1}, 2),
      in_grid({INT64_MAX, INT64_MAX}, 2),
      in_grid({}, 2),
      [](ExtentMap& /*map*/, EncodedChunks& chunks) { chunks.stored_extents = {1}; },
      [](ExtentMap& /*map*/, EncodedChunks& chunks) {
        chunks.stored_extents = {-1, -2};
      },
      [](ExtentMap& /*map*/, EncodedChunks& chunks) {
        chunks.stored_extents = {2, 2};
      },
      wide,
  };
  for (std::size_t one = 0; one < impossible.size(); ++one) {
    const Status refused = write(0, 24, impossible.at(one));
    EXPECT_FALSE(refused.ok()) << one;
    EXPECT_FALSE(std::filesystem::exists(shard(0))) << one;
  }
  // An impossible grid is refused for chunks with files of their own, too.
  const Change files_of_chunks = [](ExtentMap& map, EncodedChunks& chunks) {
    chunks.places = storage::FilePerChunk{};
    auto parts = map.files.parts();
    parts.files = 12;
    parts.counts = {0, 3};
    map.files = storage::DataFiles::of(std::move(parts));
  };
  EXPECT_FALSE(write(0, 24, files_of_chunks).ok());
  set_values(1);
  EXPECT_TRUE(write(0, 24, [](auto&, auto&) {}).ok());
  EXPECT_EQ(found(), values());
}

INSTANTIATE_TEST_SUITE_P(Encoders, SessionFilesInShards, testing::Values(1, 2, 4));

}  // namespace
}  // namespace weir::stager
