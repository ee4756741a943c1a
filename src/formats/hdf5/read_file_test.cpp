// How many objects of a file are listed.
#include "formats/hdf5/read_file.hpp"

#include <gtest/gtest.h>

#include <string>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

TEST(Hdf5Objects, AreListedUpToTheMost) {
  const TestFolder folder;
  const std::string path = folder.path("a.h5");
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  ASSERT_TRUE(file.ok());
  for (const char* const name : {"/a", "/b", "/b/c"}) {
    const Hdf5Handle group(H5Gcreate2(file.id(), name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    ASSERT_TRUE(group.ok());
  }
  // The root is one of them.
  const auto all = list_hdf5_objects(file.id(), path, 4);
  ASSERT_TRUE(all.ok()) << all.error().text();
  EXPECT_EQ(all.value().groups.size(), 4U);
  EXPECT_EQ(list_hdf5_objects(file.id(), path).value().groups.size(), 4U);
  const auto beyond = list_hdf5_objects(file.id(), path, 3);
  ASSERT_FALSE(beyond.ok());
  EXPECT_NE(beyond.error().text().find("more than 3 arrays and groups"), std::string::npos);
  EXPECT_EQ(beyond.error().code, ErrorCode::unsupported);
  EXPECT_EQ(most_hdf5_objects, 131072U);
}

}  // namespace
}  // namespace weir::storage
