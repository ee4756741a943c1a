#include "measurement/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measurement/mount_table.hpp"
#include "measurement/system_text.hpp"

namespace weir::bench {
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

TEST(WriteBack, TellsEachLimitInTheUnitThatIsInEffect) {
  std::string folder = testing::TempDir() + "weir-vm-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto set = [&folder](const char* name, int value) {
    std::ofstream(folder + "/" + name) << value << "\n";
  };
  set("dirty_ratio", 20);
  set("dirty_bytes", 0);
  set("dirty_background_ratio", 0);
  set("dirty_background_bytes", 4096);
  const nlohmann::json limits = describe_write_back(folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(limits,
            (nlohmann::json{{"dirty_ratio_percent", 20}, {"dirty_background_bytes", 4096}}));
}

TEST(WriteBack, IsUnknownWhereTheKernelDoesNotTell) {
  EXPECT_EQ(describe_write_back("/nonexistent"),
            (nlohmann::json{{"dirty_ratio_percent", "unknown"},
                            {"dirty_background_ratio_percent", "unknown"}}));
}

TEST(MountOf, FollowsLinks) {
  std::string folder = testing::TempDir() + "weir-mount-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::filesystem::path link = std::filesystem::path(folder) / "link";
  std::filesystem::create_directory_symlink("/proc/self", link);
  const auto mount = mount_of(link / "fd/..");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->point, "/proc");
  EXPECT_FALSE(mount_of(link));  // it is there no more
}

TEST(SystemText, FindsValuesByKey) {
  constexpr const char* text = "MemTotal:   24684096 kB\nMemFree: 1 kB\nmodel name\t: A: B\n";
  EXPECT_EQ(value_of(text, "MemTotal", ':'), "24684096 kB");
  EXPECT_EQ(value_of(text, "model name", ':'), "A: B");
  EXPECT_EQ(value_of(text, "Mem", ':'), std::nullopt);
}

TEST(SystemText, TellsNumbersFromOtherText) {
  EXPECT_EQ(parse_integer(" 42\n"), 42);
  EXPECT_EQ(parse_integer("42 kB"), std::nullopt);
  EXPECT_EQ(parse_integer(""), std::nullopt);
}

TEST(SystemText, TrimsBlanksAndTerminatingZeros) {
  EXPECT_EQ(trimmed(std::string_view("\t a b \r\n\0", 9)), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
}

TEST(SystemText, FindsTheChoiceInBrackets) {
  EXPECT_EQ(chosen("none [mq-deadline] bfq"), "mq-deadline");
  EXPECT_EQ(chosen("none\n"), "none");
  EXPECT_EQ(chosen("] odd ["), "] odd [");
}

TEST(SystemText, MissingIsUnknown) {
  EXPECT_EQ(or_unknown(read_integer("/nowhere/at/all")), "unknown");
  EXPECT_EQ(or_unknown(std::optional<std::int64_t>(0)), 0);
}

// On the machine that runs the tests, of which only this much is certain.
TEST(DescribeFileSystem, SaysUnknownOfADirectoryThatIsNotThere) {
  const nlohmann::json description = describe_file_system("/nowhere/at/all");
  EXPECT_EQ(description["directory"], "/nowhere/at/all");
  for (const auto& [name, value] : description.items()) {
    if (name == "directory") continue;
    EXPECT_EQ(value, "unknown") << name;
  }
  EXPECT_EQ(file_system_type("/nowhere/at/all"), "unknown");
}

TEST(DescribeFileSystem, KnowsWhatHoldsADirectory) {
  EXPECT_EQ(file_system_type("/proc"), "proc");
  const nlohmann::json description = describe_file_system("/proc");
  EXPECT_EQ(description["mount_point"], "/proc");
  EXPECT_EQ(description["magic"], "0x00009fa0");
}

TEST(DescribeFileSystem, TellsMemoryFromStorage) {
  EXPECT_TRUE(is_memory_file_system("tmpfs"));
  EXPECT_FALSE(is_memory_file_system("ext4"));
  EXPECT_FALSE(is_memory_file_system("unknown"));
}

TEST(DescribeFileSystem, KnowsWhichHaveCachesOfTheirOwn) {
  for (const char* const type : {"gpfs", "zfs", "fuse", "fuse.glusterfs", "virtiofs"}) {
    EXPECT_TRUE(has_cache_of_its_own(type)) << type;
  }
  for (const char* const type : {"ext4", "xfs", "lustre", "tmpfs", "unknown"}) {
    EXPECT_FALSE(has_cache_of_its_own(type)) << type;
  }
}

TEST(DescribeHardware, CountsProcessorsAndMemory) {
  const nlohmann::json hardware = describe_hardware("/proc");
  EXPECT_GE(hardware["processor"]["hardware_threads"], 1);
  EXPECT_GT(hardware["memory"]["bytes"], 0);
  EXPECT_EQ(hardware["block_device"], "unknown");  // there is none under /proc
}

}  // namespace
}  // namespace weir::bench
