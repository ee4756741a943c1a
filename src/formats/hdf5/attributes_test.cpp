// Attributes that other programs write: what is shown of them, and what is named as left out.
#include "formats/hdf5/attributes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/hdf5/hdf5_format.hpp"
#include "formats/hdf5/types.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t most_attributes = Hdf5AttributeLimits::most_attributes_read;
constexpr std::size_t most_bytes = Hdf5AttributeLimits::most_bytes_read;

// A file whose root group takes any number of attributes, of any length.
class AttributesOfOthers : public testing::Test {
 protected:
  void SetUp() override {
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_libver_bounds(access.id(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file_ = Hdf5Handle(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()));
    ASSERT_TRUE(file_.ok());
  }

  void put(const std::string& name, hid_t type, std::vector<hsize_t> shape, const void* data) {
    const Hdf5Handle space(
        shape.empty() ? H5Screate(H5S_SCALAR)
                      : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
    const Hdf5Handle made(
        H5Acreate2(file_.id(), name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT));
    ASSERT_TRUE(made.ok()) << name;
    ASSERT_GE(H5Awrite(made.id(), type, data), 0) << name;
  }
  void put_text(const std::string& name, const std::string& text, bool variable) {
    const Hdf5Handle type(H5Tcopy(H5T_C_S1));
    H5Tset_size(type.id(), variable ? H5T_VARIABLE : text.size());
    const char* const characters = text.c_str();
    put(name, type.id(), {}, variable ? static_cast<const void*>(&characters) : characters);
  }

  [[nodiscard]] AttributesFound found(const Hdf5AttributeLimits& limits = {}) const {
    const Hdf5Handle root(H5Oopen(file_.id(), "/", H5P_DEFAULT));
    return read_hdf5_attributes(root.id(), "fields", limits);
  }

  // Returns what the format itself shows of the file, through its own process.
  FileMap opened() {
    EXPECT_TRUE(file_.close());
    const auto map = hdf5_format()->open(path_);
    EXPECT_TRUE(map.ok());
    return map ? map.value() : FileMap();
  }

 private:
  TestFolder folder_;
  std::string path_ = folder_.path("others.h5");
  Hdf5Handle file_;
};

TEST_F(AttributesOfOthers, TextAndNumbersAreReadUpToTheMostBytesOfOne) {
  put_text("fixed", std::string(most_bytes, 'f'), false);
  put_text("variable", std::string(most_bytes, 'v'), true);
  const std::vector<std::int64_t> whole(most_bytes / 8, 7);
  put("whole", H5T_NATIVE_INT64, {whole.size()}, whole.data());
  const std::vector<double> real(most_bytes / 8, 0.5);
  put("real", H5T_NATIVE_DOUBLE, {real.size()}, real.data());
  const FileMap map = opened();
  EXPECT_TRUE(map.left_out.empty());
  ASSERT_EQ(map.groups.size(), 1U);
  const std::vector<Attribute> expected = {{"fixed", std::string(most_bytes, 'f')},
                                           {"real", real},
                                           {"variable", std::string(most_bytes, 'v')},
                                           {"whole", whole}};
  EXPECT_TRUE(map.groups.front().attributes == expected);
}

TEST_F(AttributesOfOthers, LongerOnesAreNamedAsLeftOut) {
  put_text("fixed", std::string(most_bytes + 1, 'f'), false);
  put_text("variable", std::string(most_bytes + 1, 'v'), true);
  const std::vector<std::int64_t> whole(most_bytes / 8 + 1, 7);
  put("whole", H5T_NATIVE_INT64, {whole.size()}, whole.data());
  const std::vector<double> real(most_bytes / 8 + 1, 0.5);
  put("real", H5T_NATIVE_DOUBLE, {real.size()}, real.data());
  put_text("short", "is shown", false);
  const FileMap map = opened();
  ASSERT_EQ(map.groups.size(), 1U);
  EXPECT_EQ(map.groups.front().attributes,
            (std::vector<Attribute>{{"short", std::string("is shown")}}));
  const std::string reason = "it has more than 1048576 bytes, which is the limit";
  EXPECT_EQ(map.left_out, (std::vector<AttributeLeftOut>{{"", "fixed", reason},
                                                         {"", "real", reason},
                                                         {"", "variable", reason},
                                                         {"", "whole", reason}}));
}

TEST_F(AttributesOfOthers, AreReadUpToTheMostOfAnObject) {
  const std::int8_t one = 1;
  for (std::size_t number = 0; number < most_attributes; ++number) {
    put("a" + std::to_string(number), H5T_NATIVE_INT8, {}, &one);
  }
  EXPECT_EQ(found().shown.size(), most_attributes);
  EXPECT_TRUE(found().left_out.empty());
  put("one more", H5T_NATIVE_INT8, {}, &one);
  EXPECT_EQ(found().shown.size(), most_attributes);
  EXPECT_EQ(found().left_out,
            (std::vector<AttributeLeftOut>{
                {"fields", "", "it has 16385 attributes, but Weir reads at most 16384"}}));
  EXPECT_TRUE(found({.attributes = most_attributes + 1}).left_out.empty());
}

TEST_F(AttributesOfOthers, NumbersKeepTheirTypeInEitherByteOrder) {
  const std::uint64_t most = UINT64_MAX;
  put("uint64", H5T_NATIVE_UINT64, {}, &most);
  const float third = 1.0F / 3;
  put("float32", H5T_NATIVE_FLOAT, {}, &third);
  const std::array<std::uint8_t, 2> big = {0xff, 0xfe};
  put("int16", H5T_STD_I16BE, {1}, big.data());
  EXPECT_EQ(found().shown, (std::vector<Attribute>{{"float32", std::vector<float>{third}},
                                                   {"int16", std::vector<std::int16_t>{-2}},
                                                   {"uint64", std::vector<std::uint64_t>{most}}}));
  EXPECT_TRUE(found().left_out.empty());
}

TEST_F(AttributesOfOthers, TextsInAListAreShown) {
  const Hdf5Handle fixed(H5Tcopy(H5T_C_S1));
  H5Tset_size(fixed.id(), 2);
  put("fixed", fixed.id(), {3}, "abc\0\0\0");
  const Hdf5Handle variable(H5Tcopy(H5T_C_S1));
  H5Tset_size(variable.id(), H5T_VARIABLE);
  const std::array<const char*, 2> texts = {"first", ""};
  put("variable", variable.id(), {2}, static_cast<const void*>(texts.data()));
  put("one", variable.id(), {1}, static_cast<const void*>(texts.data()));
  using Texts = std::vector<std::string>;
  EXPECT_EQ(found().shown, (std::vector<Attribute>{{"fixed", Texts{"ab", "c", ""}},
                                                   {"one", std::string("first")},
                                                   {"variable", Texts{"first", ""}}}));
}

TEST_F(AttributesOfOthers, KindsWithoutAFormAreNamed) {
  const Hdf5Handle pair(H5Tcreate(H5T_COMPOUND, 2));
  H5Tinsert(pair.id(), "first", 0, H5T_NATIVE_INT8);
  H5Tinsert(pair.id(), "second", 1, H5T_NATIVE_INT8);
  put("pair", pair.id(), {}, "ab");
  const std::array<double, 4> numbers = {1, 2, 3, 4};
  put("matrix", H5T_NATIVE_DOUBLE, {2, 2}, numbers.data());
  const Hdf5Handle half = hdf5_type(array::ElementKind::float16, ByteOrder::little);
  put("half", half.id(), {}, "ab");
  EXPECT_TRUE(found().shown.empty());
  EXPECT_EQ(
      found().left_out,
      (std::vector<AttributeLeftOut>{
          {"fields", "half", "its numbers have a type of 2 bytes that attributes cannot have"},
          {"fields", "matrix", "it has 2 dimensions"},
          {"fields", "pair", "it is neither text nor numbers"}}));
}

}  // namespace
}  // namespace weir::storage
