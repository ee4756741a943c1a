#include "sections/decoded_engine.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

using array::Indices;
using array::Shape;

// 5 x 6 bytes in chunks of 2 x 3, a file each and without codecs; the last row of chunks is cut.
StoredArray cut_array(const std::string& folder) {
  const Shape shape = Shape::create({5, 6}).value();
  const auto grid = array::ChunkGrid::create(shape, Indices{2, 3}).value();
  StoredArray array{{.name = "a", .shape = shape, .type = array::ElementKind::uint8},
                    {.shape = shape,
                     .type = array::ElementKind::uint8,
                     .files = DataFiles::in_grid(folder + "/c", grid.counts(), '.'),
                     .extents = DenseExtents{}}};
  array.map.extents = EncodedChunks{grid, Indices{2, 3}, {}, FilePerChunk{}};
  return array;
}

TEST(DecodedEngine, RefusesBytesThatHaveNoChunk) {
  const TestFolder folder;
  auto engine = DecodedEngine::create(cut_array(folder.path("")), EncodedBlocks::chunks);
  ASSERT_TRUE(engine.ok()) << engine.error().text();
  const auto file = engine.value()->open("view", {});
  ASSERT_TRUE(file.ok());
  std::vector<std::byte> bytes(6, std::byte{7});
  Slice slice{bytes.data(), 6};
  FileTraffic traffic;
  // Six chunks of six bytes each.
  const auto range_at = [&](std::int64_t offset) {
    return FileRange{file.value().get(), offset, {&slice, 1}};
  };
  for (const std::int64_t offset : {0, 24, 30}) {
    const FileRange range = range_at(offset);
    EXPECT_TRUE(engine.value()->write({&range, 1}, traffic).ok()) << offset;
    EXPECT_TRUE(engine.value()->end().ok()) << offset;
  }
  for (const std::int64_t offset : {36, 60, 3600}) {
    const FileRange range = range_at(offset);
    const Status written = engine.value()->write({&range, 1}, traffic);
    ASSERT_FALSE(written.ok()) << offset;
    EXPECT_NE(written.error().text().find("\"a\""), std::string::npos) << written.error().text();
    EXPECT_FALSE(engine.value()->read({&range, 1}, traffic).ok()) << offset;
    EXPECT_TRUE(engine.value()->end().ok()) << offset;
  }
  for (const std::int64_t offset : {0, 24, 30}) {
    const FileRange range = range_at(offset);
    EXPECT_TRUE(engine.value()->read({&range, 1}, traffic).ok()) << offset;
  }
}

// An array that got longer while its chunks are those that there were before.
TEST(DecodedEngine, RefusesAGridThatIsNotTheArrays) {
  const TestFolder folder;
  StoredArray longer = cut_array(folder.path(""));
  longer.map.shape = Shape::create({7, 6}).value();
  const auto engine = DecodedEngine::create(longer, EncodedBlocks::chunks);
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.error().text().find("grid"), std::string::npos) << engine.error().text();
}

}  // namespace
}  // namespace weir::storage
