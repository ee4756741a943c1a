// What the index of an HDF5 file says after chunks were entered is compared with what was written.
// Here the library leaves chunks out: the program's H5Dwrite_chunk() stands before the library's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/format.hpp"
#include "formats/hdf5/hdf5_format.hpp"
#include "formats/test_description.hpp"
#include "system/incomplete.hpp"
#include "system/test_folder.hpp"

namespace {

// What the function below, which has no argument for it, leaves out: by the chunk's place in the
// second dimension; or of which it enters a byte less. No chunk while EnterChunks does not say.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
hsize_t left_out = HSIZE_UNDEF;
bool is_shortened = false;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

extern "C" herr_t H5Dwrite_chunk(hid_t dset_id, hid_t dxpl_id, std::uint32_t filters,
                                 const hsize_t* offset, std::size_t data_size, const void* buf) {
  using Function =
      herr_t (*)(hid_t, hid_t, std::uint32_t, const hsize_t*, std::size_t, const void*);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "H5Dwrite_chunk"));
  // Other tests of this program have datasets of one dimension, and offsets of one number.
  const bool is_whole = left_out == HSIZE_UNDEF || offset[1] != left_out;
  if (is_whole) return real(dset_id, dxpl_id, filters, offset, data_size, buf);
  return is_shortened ? real(dset_id, dxpl_id, filters, offset, data_size - 1, buf) : 0;
}

namespace weir::storage {
namespace {

// One step of all chunks, and room for another one.
class EnterChunks : public testing::TestWithParam<std::int64_t> {
 protected:
  static constexpr std::int64_t chunks = 3;
  static constexpr std::int64_t chunk_bytes = 20;

  void SetUp() override {
    const ArrayDescription one{.name = "a",
                               .shape = shape_of({1, 2 * chunks}),
                               .grows = true,
                               .chunk_extents = array::Indices{1, 2},
                               .codecs = {Fletcher32Codec{}}};
    take(hdf5_format()->lay_out({.arrays = {one}}, path_));
    if (GetParam() == 1) {
      has_bytes(incomplete_path(path_));
      return;
    }
    const auto first = enter(1);
    ASSERT_TRUE(first.ok()) << first.error().text();
    ASSERT_TRUE(commit(path_, first.value(), StepDurability::none).ok());
    take(hdf5_format()->make_room(path_, 2));
    has_bytes(path_);
  }
  void TearDown() override { left_out = HSIZE_UNDEF; }

  void take(Result<Room> room) {
    ASSERT_TRUE(room.ok()) << room.error().text();
    room_ = std::move(room).value();
  }
  // The chunks' bytes are in the file.
  void has_bytes(const std::string& file) const {
    const std::int64_t end = room_.free_from + chunk_bytes * chunks;
    std::filesystem::resize_file(file, static_cast<std::uintmax_t>(end));
  }
  // All chunks of the last of `steps` steps.
  Result<HeaderUpdate> enter(std::int64_t steps) {
    std::vector<WrittenChunk> written;
    written.reserve(chunks);
    for (std::int64_t i = 0; i < chunks; ++i) {
      written.push_back({0,
                         (steps - 1) * chunks + i,
                         {.offset = room_.free_from + chunk_bytes * i, .bytes = chunk_bytes}});
    }
    return hdf5_format()->enter_chunks(path_, room_, steps, written);
  }
  std::string error() {
    const auto entered = enter(GetParam());
    return entered.ok() ? "" : entered.error().text();
  }

  TestFolder folder_;
  std::string path_ = folder_.path("a.h5");
  Room room_;
};

TEST_P(EnterChunks, OneThatTheIndexLacksIsNamed) {
  left_out = 2;  // the second one
  is_shortened = false;
  const std::string name = "chunk " + std::to_string((GetParam() - 1) * chunks + 1) + " of \"a\"";
  const std::string text = error();
  EXPECT_NE(text.find(name), std::string::npos) << text;
  EXPECT_NE(text.find("lacks it"), std::string::npos) << text;
}

TEST_P(EnterChunks, OneThatTheIndexHasFewerBytesOfIsNamed) {
  left_out = 4;
  is_shortened = true;
  const std::string text = error();
  EXPECT_NE(text.find("has 19 bytes at"), std::string::npos) << text;
}

TEST_P(EnterChunks, AllThatAreThereAreFound) { EXPECT_EQ(error(), ""); }

INSTANTIATE_TEST_SUITE_P(Steps, EnterChunks, testing::Values(1, 2));

}  // namespace
}  // namespace weir::storage
