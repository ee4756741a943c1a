// Files of HDF5 that Weir did not make, or that are damaged: what is read of them, what is refused
// by name, and what is asked in a process that may be ended.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "formats/hdf5/hdf5_format.hpp"
#include "formats/hdf5/library.hpp"
#include "formats/hdf5/read_elsewhere.hpp"
#include "formats/hdf5/test_example.hpp"
#include "formats/sandbox_program.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

class ForeignFile {
 public:
  explicit ForeignFile(std::string path)
      : path_(std::move(path)),
        file_(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~ForeignFile() { close(); }
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;

  void close() {
    if (file_ >= 0) H5Fclose(file_);
    file_ = -1;
  }
  [[nodiscard]] hid_t id() const { return file_; }

  // 7 x 9 numbers 0, 3, 6, ... plus 1.
  template <typename Prepare>
  void add(const char* name, hid_t type, const Prepare& prepare) {
    const std::array<hsize_t, 2> sizes = {7, 9};
    const hid_t space = H5Screate_simple(2, sizes.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    prepare(creation);
    const hid_t dataset = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ASSERT_GE(dataset, 0) << name;
    std::vector<std::int32_t> values(63);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int32_t>(i * 3 + 1);
    }
    EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
  }

 private:
  std::string path_;
  hid_t file_;
};

constexpr std::array<hsize_t, 2> small_chunk = {2, 4};

void write_foreign_file(const std::string& path) {
  ForeignFile file(path);
  const auto nothing = [](hid_t /*creation*/) {};
  const auto chunked = [](hid_t creation) { H5Pset_chunk(creation, 2, small_chunk.data()); };
  file.add("contiguous", H5T_STD_I32LE, nothing);
  file.add("big_endian", H5T_STD_I32BE, nothing);
  file.add("chunked", H5T_STD_I32LE, chunked);
  file.add("compact", H5T_STD_I32LE, [](hid_t creation) { H5Pset_layout(creation, H5D_COMPACT); });
  file.add("filtered", H5T_STD_I32LE, [&](hid_t creation) {
    chunked(creation);
    H5Pset_scaleoffset(creation, H5Z_SO_INT, 0);
  });
  file.add("external", H5T_STD_I32LE,
           [&](hid_t creation) { H5Pset_external(creation, (path + ".outside").c_str(), 0, 252); });
  file.add("odd_type", H5T_VAX_F32, nothing);
  // A cycle, which must not be walked for ever, and a link that leads nowhere.
  const hid_t group = H5Gcreate2(file.id(), "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_hard(file.id(), "/", group, "up", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/none", group, "nowhere", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external("/etc/passwd", "/", group, "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(group);
  const hid_t scalar_space = H5Screate(H5S_SCALAR);
  const hid_t scalar = H5Dcreate2(file.id(), "scalar", H5T_STD_I32LE, scalar_space, H5P_DEFAULT,
                                  H5P_DEFAULT, H5P_DEFAULT);
  const std::int32_t one = 1;
  H5Dwrite(scalar, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one);
  H5Dclose(scalar);
  H5Sclose(scalar_space);
  const std::array<hsize_t, 2> huge = {hsize_t{1} << 30, hsize_t{1} << 29};
  const hid_t space = H5Screate_simple(2, huge.data(), nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  chunked(creation);
  H5Dclose(
      H5Dcreate2(file.id(), "huge_grid", H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Dclose(H5Dcreate2(file.id(), "nothing_written", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT,
                      H5P_DEFAULT));
  H5Pclose(creation);
  H5Sclose(space);
}

// The path of a dimension may be longer than any one of its names.
TEST(ForeignHdf5Files, DimensionsDeepInGroupsAreNamed) {
  TestFolder folder;
  const std::string path = folder.path("deep.h5");
  const std::string part(255, 'g');
  const std::string deep = part + '/' + part + '/' + part + '/' + part + '/' + part + "/x";
  {
    const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(links.id(), 1);
    const hsize_t extent = 3;
    const Hdf5Handle space(H5Screate_simple(1, &extent, nullptr));
    const auto make = [&](const std::string& name) {
      return Hdf5Handle(H5Dcreate2(file.id(), name.c_str(), H5T_IEEE_F64LE, space.id(), links.id(),
                                   H5P_DEFAULT, H5P_DEFAULT));
    };
    const Hdf5Handle scale = make(deep);
    const Hdf5Handle array = make("array");
    ASSERT_GE(H5DSset_scale(scale.id(), "x"), 0);
    ASSERT_GE(H5DSattach_scale(array.id(), scale.id(), 0), 0);
  }
  const auto map = hdf5_format()->open(path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  const std::vector<std::string> names = {"x"};
  for (const std::string& name : {std::string("array"), deep}) {
    const StoredArray* const found = map.value().find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->description.dimension_names, names) << name;
  }
}

TEST(ForeignHdf5Files, ReadsForeignFilesAndRefusesByName) {
  TestFolder folder;
  const std::string path = folder.path("f.h5");
  write_foreign_file(path);
  const auto map = hdf5_format()->open(path);
  ASSERT_TRUE(map.ok()) << map.error().text();
  for (const char* name : {"contiguous", "big_endian", "chunked", "scalar"}) {
    const auto found = map.value().get(name);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_EQ(wrong_elements(found.value()->map, 1), 0) << name;
  }
  EXPECT_EQ(map.value().find("big_endian")->map.byte_order, ByteOrder::big);
  for (const char* name : {"nothing_written", "huge_grid"}) {
    const auto nothing = map.value().get(name);
    ASSERT_TRUE(nothing.ok()) << nothing.error().text();
    EXPECT_FALSE(nothing.value()->map.place_of({5, 5}).has_value()) << name;
  }
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"compact", "compact"},
      {"filtered", "scaleoffset"},
      {"external", "external"},
      {"odd_type", "neither numbers"}};
  EXPECT_EQ(map.value().refused.size(), refused.size());
  for (const auto& [name, reason] : refused) {
    const auto found = map.value().get(name);
    ASSERT_FALSE(found.ok()) << name;
    EXPECT_NE(found.error().text().find(reason), std::string::npos) << found.error().text();
    EXPECT_NE(found.error().text().find(name), std::string::npos) << found.error().text();
  }
}

std::vector<char> characters_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_characters(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST(ForeignHdf5Files, AProgramAndAForkReadTheSame) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "there is no program in builds with the thread sanitizer";
#endif
  TestFolder folder;
  const auto program = find_sandbox_program("weir-hdf5-header");
  ASSERT_TRUE(program.has_value());
  const std::string strange = folder.path("-v $HOME 'x'\n\xff.h5");
  write_foreign_file(strange);
  write_foreign_file(folder.path("cut.h5"));
  std::filesystem::resize_file(folder.path("cut.h5"), 900);
  for (const std::string& path :
       {strange, folder.path("cut.h5"), folder.path("none.h5"), folder.path("."), std::string()}) {
    for (const auto question : {Hdf5Question::header, Hdf5Question::unfinished}) {
      const auto by_program = read_hdf5_elsewhere(program, path, question);
      const auto by_fork = read_hdf5_elsewhere(std::nullopt, path, question);
      EXPECT_EQ(by_program.ok(), path == strange) << path;
      ASSERT_EQ(by_program.ok(), by_fork.ok()) << path;
      if (by_fork) {
        EXPECT_TRUE(by_program.value() == by_fork.value()) << path;
      } else {
        EXPECT_EQ(by_program.error().text(), by_fork.error().text());
        EXPECT_EQ(by_program.error().code, by_fork.error().code);
      }
    }
  }
}

// Bob Jenkins' lookup3, the checksum of HDF5's metadata.
std::uint32_t lookup3(const char* bytes, std::size_t count) {
  const auto turned = [](std::uint32_t x, unsigned by) { return x << by | x >> (32U - by); };
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4 && at + i < count; ++i) {
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8U * i);
    }
    return value;
  };
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(count);
  std::uint32_t b = a;
  std::uint32_t c = a;
  std::size_t at = 0;
  for (; count - at > 12; at += 12) {
    a += word(at), b += word(at + 4), c += word(at + 8);
    a -= c, a ^= turned(c, 4), c += b;
    b -= a, b ^= turned(a, 6), a += c;
    c -= b, c ^= turned(b, 8), b += a;
    a -= c, a ^= turned(c, 16), c += b;
    b -= a, b ^= turned(a, 19), a += c;
    c -= b, c ^= turned(b, 4), b += a;
  }
  a += word(at), b += word(at + 4), c += word(at + 8);
  c ^= b, c -= turned(b, 14);
  a ^= c, a -= turned(c, 11);
  b ^= a, b -= turned(a, 25);
  c ^= b, c -= turned(b, 16);
  a ^= c, a -= turned(c, 4);
  b ^= a, b -= turned(a, 14);
  c ^= b, c -= turned(b, 24);
  return c;
}

// A chunk index that claims 2^44 chunks: the library asks for each of them when it counts them.
TEST(ForeignHdf5Files, WhatIsUnfinishedIsFoundInAProcessThatMayBeEnded) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "there is no program in builds with the thread sanitizer";
#endif
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const ArrayDescription one{
      .name = "a", .shape = shape_of({1, 6}), .grows = true, .chunk_extents = array::Indices{1, 2}};
  ASSERT_TRUE(make_file(*hdf5_format(), {.arrays = {one}}, path).ok());
  std::vector<char> bytes = characters_of(path);
  constexpr std::string_view signature = "EAHD";
  const auto header =
      std::search(bytes.begin(), bytes.end(), signature.begin(), signature.end()) - bytes.begin();
  constexpr std::ptrdiff_t until_sum = 4 + 8 + 6 * 8 + 8;
  constexpr std::ptrdiff_t most_index_set = 12 + 4 * 8;
  ASSERT_LT(header + until_sum + 4, std::ssize(bytes));
  char* const start = bytes.data() + header;
  std::uint32_t sum = lookup3(start, until_sum);
  ASSERT_EQ(std::memcmp(start + until_sum, &sum, sizeof sum), 0);
  const std::uint64_t claimed = std::uint64_t{1} << 44U;
  std::memcpy(start + most_index_set, &claimed, sizeof claimed);
  sum = lookup3(start, until_sum);
  std::memcpy(start + until_sum, &sum, sizeof sum);
  write_characters(path, bytes);
  const auto program = find_sandbox_program("weir-hdf5-header");
  ASSERT_TRUE(program.has_value());
  const auto left = read_hdf5_elsewhere(program, path, Hdf5Question::unfinished,
                                        {.time = std::chrono::milliseconds(500)});
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.error().code, ErrorCode::corrupt);
}

TEST(ForeignHdf5Files, DamagedFilesAreErrorsOrLieInside) {
  TestFolder folder;
  const std::string good = folder.path("good.h5");
  ASSERT_TRUE(make_file(*hdf5_format(), hdf5_example(), good).ok());
  const std::vector<char> bytes = characters_of(good);
  const std::string path = folder.path("bad.h5");
  const auto check = [&](std::size_t size) {
    const auto map = hdf5_format()->open(path);
    if (!map) {
      EXPECT_FALSE(map.error().text().empty());
      return;
    }
    for (const StoredArray& one : map.value().arrays) {
      const auto place = one.map.place_of(array::Indices(one.map.shape.dimensions()));
      if (!place || one.map.shape.elements() == 0) continue;
      EXPECT_GE(place->offset, 0);
      EXPECT_LE(place->offset + one.map.type.bytes(), static_cast<std::int64_t>(size));
    }
  };
  // In place: a file that is emptied and written again is flushed by some file systems.
  write_characters(path, bytes);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t at, char character) {
    file.seekp(static_cast<std::streamoff>(at)).put(character).flush();
  };
  for (std::size_t at = 0; at < bytes.size(); at += 47) {
    put(at, static_cast<char>(bytes[at] ^ (at % 3 == 0 ? 0x80 : 0xff)));
    check(bytes.size());
    put(at, bytes[at]);
  }
  for (std::size_t size = bytes.size(); size > 251; size -= 251) {
    std::filesystem::resize_file(path, size);
    check(size);
  }
  for (const std::string& text : {std::string(), std::string("no HDF5 at all")}) {
    write_characters(path, {text.begin(), text.end()});
    EXPECT_FALSE(hdf5_format()->open(path).ok());
  }
  EXPECT_FALSE(hdf5_format()->open(folder.path("none.h5")).ok());
  EXPECT_FALSE(make_file(*hdf5_format(), hdf5_example(), folder.path("none/a.h5")).ok());
}

}  // namespace
}  // namespace weir::storage
