// Records whose members have names: compounds in the file, records of bytes to Weir.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "array/record_members.hpp"
#include "formats/hdf5/hdf5_format.hpp"
#include "formats/hdf5/library.hpp"
#include "formats/test_description.hpp"
#include "formats/test_transfer.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr std::size_t record_name_bytes = 3;
constexpr const char* named_members = "a name:text[3],value:float64";

FileDescription table_with(const std::string& members) {
  return {.arrays = {{.name = "t",
                      .shape = shape_of({5}),
                      .type = array::ElementType::record(record_name_bytes + 8).value(),
                      .attributes = {{array::record_members_attribute, members}}}}};
}

TEST(Hdf5Records, AreCompoundsOfNamedMembers) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const auto made = make_file(*hdf5_format(), table_with(named_members), path);
  ASSERT_TRUE(made.ok()) << made.error().text();
  write_array(made.value().arrays[0].map, 1);

  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  const Hdf5Handle dataset(H5Dopen2(file.id(), "t", H5P_DEFAULT));
  const Hdf5Handle stored(H5Dget_type(dataset.id()));
  ASSERT_EQ(H5Tget_class(stored.id()), H5T_COMPOUND);
  ASSERT_EQ(H5Tget_nmembers(stored.id()), 2);
  EXPECT_EQ(H5Tget_member_index(stored.id(), "a name"), 0);
  EXPECT_EQ(H5Tget_member_class(stored.id(), 0), H5T_STRING);
  // One member alone, as a program reads it.
  const Hdf5Handle value(H5Tcreate(H5T_COMPOUND, sizeof(double)));
  H5Tinsert(value.id(), "value", 0, H5T_NATIVE_DOUBLE);
  std::array<double, 5> values{};
  ASSERT_GE(H5Dread(dataset.id(), value.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bytes = test_element(table_with("").arrays[0].type, static_cast<std::int64_t>(i), 1);
    std::uint64_t written = 0;
    std::memcpy(&written, bytes.data() + record_name_bytes, sizeof written);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(values.at(i)), written) << i;
  }
}

TEST(Hdf5Records, OpenAgainAsDescribed) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  const auto made = make_file(*hdf5_format(), table_with(named_members), path);
  ASSERT_TRUE(made.ok()) << made.error().text();
  write_array(made.value().arrays[0].map, 1);
  const auto opened = hdf5_format()->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  const auto found = opened.value().get("t");
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found.value()->description.type.name(), "record[11]");
  EXPECT_EQ(found.value()->description.attributes, table_with(named_members).arrays[0].attributes);
  EXPECT_EQ(wrong_elements(found.value()->map, 1), 0);
}

TEST(Hdf5Records, MembersThatDoNotFillTheRecordAreRefusedByName) {
  TestFolder folder;
  for (const auto& [members, reason] :
       {std::pair("value:float64", "members of 8 bytes, but the elements are record[11]"),
        std::pair("value:float65", "unknown element type")}) {
    const auto made = make_file(*hdf5_format(), table_with(members), folder.path("a.h5"));
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.error().text().find("\"t\": _RecordMembers"), std::string::npos)
        << made.error().text();
    EXPECT_NE(made.error().text().find(reason), std::string::npos) << made.error().text();
  }
  FileDescription numbers = table_with("");
  numbers.arrays[0].attributes[0].value = std::vector<std::int64_t>{1};
  const auto made = make_file(*hdf5_format(), numbers, folder.path("a.h5"));
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().text().find("is not a text"), std::string::npos) << made.error().text();
}

// Other programs write compounds too. An attribute that says something else does not make them
// records.
TEST(Hdf5Records, CompoundsOfOthersAreRefusedByName) {
  TestFolder folder;
  const std::string path = folder.path("a.h5");
  ASSERT_TRUE(make_file(*hdf5_format(), table_with(named_members), path).ok());
  {
    const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const Hdf5Handle dataset(H5Dopen2(file.id(), "t", H5P_DEFAULT));
    const Hdf5Handle attribute(H5Aopen(dataset.id(), array::record_members_attribute, H5P_DEFAULT));
    const Hdf5Handle type(H5Aget_type(attribute.id()));
    ASSERT_GE(H5Awrite(attribute.id(), type.id(), "a name:text[3],value:uint64_"), 0);
  }
  const auto opened = hdf5_format()->open(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  const auto found = opened.value().get("t");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().text().find("neither numbers"), std::string::npos)
      << found.error().text();
}

}  // namespace
}  // namespace weir::storage
