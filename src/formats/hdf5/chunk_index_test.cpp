// Datasets with very many chunks, made by the library, and what of them is found.
#include "formats/hdf5/chunk_index.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "formats/hdf5/hdf5_format.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

enum class Index { btree, extensible_array, fixed_array };

struct Dataset {
  Index index = Index::extensible_array;
  bool encoded = true;
  hsize_t chunks = 0;  // of the grid, of one byte each
};

constexpr hsize_t encoded_bytes = 5;  // whatever they are: nothing is decoded

// A file with one dataset, "a", of which each() chunk is in the file.
template <typename Each>
void make_dataset(const std::string& path, const Dataset& about, const Each& each) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  const H5F_libver_t version =
      about.index == Index::btree ? H5F_LIBVER_EARLIEST : H5F_LIBVER_LATEST;
  H5Pset_libver_bounds(access, version, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hsize_t most = about.index == Index::extensible_array ? H5S_UNLIMITED : about.chunks;
  const hid_t space = H5Screate_simple(1, &about.chunks, &most);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t one = 1;
  H5Pset_chunk(creation, 1, &one);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_INCR);
  if (about.encoded) H5Pset_fletcher32(creation);
  const hid_t dataset =
      H5Dcreate2(file, "a", H5T_NATIVE_UINT8, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  ASSERT_GE(dataset, 0);
  const std::uint64_t bytes = 7;
  for (const hsize_t chunk : each) {
    ASSERT_GE(
        H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &chunk, about.encoded ? encoded_bytes : 1, &bytes),
        0);
  }
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
  H5Pclose(access);
}

std::vector<hsize_t> every(hsize_t distance, hsize_t end) {
  std::vector<hsize_t> chunks;
  for (hsize_t chunk = 0; chunk < end; chunk += distance) chunks.push_back(chunk);
  return chunks;
}

std::int64_t in_file(const ExtentMap& map, std::int64_t chunk) {
  if (const EncodedChunks* const encoded = map.encoded()) {
    const auto place = encoded->place_of(chunk);
    return place && place->bytes == static_cast<std::int64_t>(encoded_bytes) ? 1 : 0;
  }
  return map.chunks()->place_of(chunk) ? 1 : 0;
}

class ManyChunks : public testing::TestWithParam<Dataset> {};

TEST_P(ManyChunks, AreFoundWhetherMostAreThereOrAbsent) {
  const Dataset& about = GetParam();
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  for (const hsize_t distance : {hsize_t{1}, hsize_t{1000}, about.chunks}) {
    SCOPED_TRACE(distance);
    const auto there = every(distance, about.chunks);
    make_dataset(path, about, there);
    const auto opened = hdf5_format()->open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    const auto found = opened.value().get("a");
    ASSERT_TRUE(found.ok()) << found.error().text();
    std::int64_t count = 0;
    for (hsize_t chunk = 0; chunk < about.chunks; ++chunk) {
      const std::int64_t is_there = in_file(found.value()->map, static_cast<std::int64_t>(chunk));
      ASSERT_EQ(is_there, chunk % distance == 0 ? 1 : 0) << chunk;
      count += is_there;
    }
    EXPECT_EQ(count, std::ssize(there));
  }
}

constexpr hsize_t many = 70000;

INSTANTIATE_TEST_SUITE_P(Indices, ManyChunks,
                         testing::Values(Dataset{Index::btree, true, many},
                                         Dataset{Index::btree, false, many},
                                         Dataset{Index::extensible_array, true, many},
                                         Dataset{Index::extensible_array, false, many},
                                         Dataset{Index::fixed_array, true, many},
                                         Dataset{Index::fixed_array, false, many}));

TEST(Hdf5ChunkIndex, LargeGridsAreReadWhereFewOfTheirChunksAreThere) {
  constexpr auto looked_up = static_cast<hsize_t>(Hdf5ChunkIndex::most_looked_up);
  constexpr auto counted = static_cast<hsize_t>(Hdf5ChunkIndex::most_counted);
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  for (const hsize_t chunks : {looked_up, looked_up + 1, hsize_t{1} << 60}) {
    for (const hsize_t there : {hsize_t{0}, hsize_t{1}, counted, counted + 1}) {
      SCOPED_TRACE(std::to_string(there) + " of " + std::to_string(chunks));
      make_dataset(path, {Index::btree, true, chunks}, every(1, there));
      const auto opened = hdf5_format()->open(path);
      ASSERT_TRUE(opened.ok()) << opened.error().text();
      const auto found = opened.value().get("a");
      if (chunks > looked_up && there > counted) {
        ASSERT_FALSE(found.ok());
        EXPECT_NE(found.error().text().find("8193 of its"), std::string::npos)
            << found.error().text();
        continue;
      }
      ASSERT_TRUE(found.ok()) << found.error().text();
      const ExtentMap& map = found.value()->map;
      for (hsize_t chunk = 0; chunk <= counted; ++chunk) {
        ASSERT_EQ(in_file(map, static_cast<std::int64_t>(chunk)), chunk < there ? 1 : 0) << chunk;
      }
      EXPECT_EQ(in_file(map, static_cast<std::int64_t>(chunks) - 1), 0);
    }
  }
}

// Changes the first letter of every block with such a signature.
void damage(const std::string& path, const std::string& signature) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::int64_t blocks = 0;
  for (auto at = bytes.find(signature); at != std::string::npos;
       at = bytes.find(signature, at + 1)) {
    file.clear();
    file.seekp(static_cast<std::streamoff>(at)).put('?');
    ++blocks;
  }
  ASSERT_GT(blocks, 0) << signature;
}

// The library's answer is the same for a chunk that is absent and for an index that cannot be read.
TEST(Hdf5ChunkIndex, ADamagedIndexIsNotAnAbsentChunk) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  constexpr std::int64_t chunks = 300;
  const auto grid = array::ChunkGrid::create(array::Shape::create({chunks}).value(), {1}).value();
  const array::Indices stored = {1};
  // A damaged B-tree is also that of the file's group.
  const std::vector<std::pair<Index, const char*>> indices = {{Index::extensible_array, "EADB"},
                                                              {Index::fixed_array, "FADB"}};
  for (const auto& [index, signature] : indices) {
    for (const bool damaged : {false, true}) {
      SCOPED_TRACE(signature);
      make_dataset(path, {index, true, chunks}, every(2, chunks));
      if (damaged) damage(path, signature);
      {
        const Hdf5Silence silence;
        Hdf5Writing driver(Hdf5Writing::Writes::are_caught, 1);
        const Hdf5Handle access = driver.access();
        const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()));
        const Hdf5Handle dataset(H5Dopen2(file.id(), "a", H5P_DEFAULT));
        ASSERT_TRUE(dataset.ok());
        const Hdf5ChunkIndex asked(driver, dataset.id(), grid, stored);
        for (const std::int64_t chunk : {200, 201}) {
          Hdf5ChunkIndex::Found found{chunk};
          const RefusalReason reason = asked.look_up(found);
          EXPECT_EQ(reason.has_value(), damaged) << chunk;
          EXPECT_EQ(found.in_file(), !damaged && chunk == 200) << chunk;
        }
      }
      const auto opened = hdf5_format()->open(path);
      ASSERT_TRUE(opened.ok()) << opened.error().text();
      const auto found = opened.value().get("a");
      ASSERT_EQ(found.ok(), !damaged);
      if (!damaged) continue;
      EXPECT_NE(found.error().text().find("index"), std::string::npos) << found.error().text();
    }
  }
}

}  // namespace
}  // namespace weir::storage
