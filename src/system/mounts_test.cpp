#include "system/mounts.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

constexpr const char* mountinfo =
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "40 27 0:40 / /scratch rw,noatime shared:1 master:2 - lustre 10.0.0.1@o2ib:/fs rw,flock\n"
    "41 40 8:17 / /scratch/local\\040disk rw - xfs /dev/sdb1 rw,noquota\n"
    "50 27 0:50 / /mnt rw - tmpfs tmpfs rw\n"
    "51 50 0:51 / /mnt rw - nfs4 server:/export rw,vers=4.2\n"
    "not a mount\n";

TEST(FindMount, TakesTheLongestMountPointThatHoldsThePath) {
  EXPECT_EQ(find_mount(mountinfo, "/home/someone")->type, "ext4");
  EXPECT_EQ(find_mount(mountinfo, "/scratch")->type, "lustre");
  EXPECT_EQ(find_mount(mountinfo, "/scratch/run")->source, "10.0.0.1@o2ib:/fs");
  EXPECT_EQ(find_mount(mountinfo, "/scratchy")->type, "ext4");
}

TEST(FindMount, ReadsBlanksInNames) {
  const auto mount = find_mount(mountinfo, "/scratch/local disk/run");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->point, "/scratch/local disk");
  EXPECT_EQ(mount->device, "8:17");
}

TEST(FindMount, TakesTheLastOfThoseAtOnePoint) {
  EXPECT_EQ(find_mount(mountinfo, "/mnt/a")->type, "nfs4");
}

TEST(FindMount, JoinsTheOptionsOfMountAndFileSystem) {
  EXPECT_EQ(find_mount(mountinfo, "/scratch")->options, "rw,noatime,flock");
}

TEST(FindMount, FindsNothingInNothing) {
  EXPECT_FALSE(find_mount("", "/"));
  EXPECT_FALSE(find_mount(mountinfo, "relative"));
}

TEST(MountOf, FollowsLinks) {
  const TestFolder folder;
  const std::filesystem::path link = folder.path("link");
  std::filesystem::create_directory_symlink("/proc/self", link);
  const auto mount = mount_of(link / "fd/..");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->point, "/proc");
}

TEST(MountOf, ReadsTheTableThatIsGiven) {
  const TestFolder folder;
  const std::string inner = std::filesystem::canonical(folder.path(".")).string();
  const std::string table = folder.path("mounts");
  std::ofstream(table) << "27 1 254:0 / / rw - ext4 /dev/root rw\n"
                       << "40 27 0:40 / " << inner << " rw - lustre 10.0.0.1@tcp:/scratch rw\n";
  EXPECT_EQ(mount_of(table, table)->source, "10.0.0.1@tcp:/scratch");
  EXPECT_EQ(mount_of("/", table)->type, "ext4");
  EXPECT_FALSE(mount_of(folder.path("missing"), table));
  EXPECT_FALSE(mount_of(table, folder.path("no table")));
}

}  // namespace
}  // namespace weir::storage
