#include "measurement/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measurement/system_text.hpp"

namespace weir::bench {
namespace {

TEST(SystemText, IsNothingWhereReadingFails) {
  EXPECT_TRUE(read_text("/proc/self/stat"));
  EXPECT_EQ(read_text(testing::TempDir() + "not there"), std::nullopt);
  // A folder can be opened, but reading fails, as it does for a process that has ended.
  EXPECT_EQ(read_text("/proc/self"), std::nullopt);
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
  set("dirty_expire_centisecs", 3000);
  set("dirty_writeback_centisecs", 500);
  set("vfs_cache_pressure", 100);
  const nlohmann::json limits = describe_write_back(folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(limits, (nlohmann::json{{"dirty_ratio_percent", 20},
                                    {"dirty_background_bytes", 4096},
                                    {"dirty_expire_centisecs", 3000},
                                    {"dirty_writeback_centisecs", 500},
                                    {"vfs_cache_pressure", 100}}));
}

TEST(WriteBack, IsUnknownWhereTheKernelDoesNotTell) {
  EXPECT_EQ(describe_write_back("/nonexistent"),
            (nlohmann::json{{"dirty_ratio_percent", "unknown"},
                            {"dirty_background_ratio_percent", "unknown"},
                            {"dirty_expire_centisecs", "unknown"},
                            {"dirty_writeback_centisecs", "unknown"},
                            {"vfs_cache_pressure", "unknown"}}));
}

TEST(Libraries, HaveTheVersionsOfTheirFilesNames) {
  constexpr const char* maps =
      "7f0000000000-7f0000001000 r-xp 00000000 fe:00 1  /usr/lib/libhdf5_openmpi.so.103.3.0\n"
      "7f0000001000-7f0000002000 r--p 00000000 fe:00 1  /usr/lib/libhdf5_openmpi.so.103.3.0\n"
      "7f0000002000-7f0000003000 r-xp 00000000 fe:00 2  /usr/lib/libz.so.1.2.13\n"
      "7f0000003000-7f0000004000 r-xp 00000000 fe:00 3  /opt/mpi/libmpi.so\n"
      "7f0000004000-7f0000005000 r-xp 00000000 fe:00 4  /usr/lib/libzzip.so.0\n"
      "7f0000005000-7f0000006000 r-xp 00000000 fe:00 5  /usr/lib/libc.so.6\n"
      "7f0000006000-7f0000007000 rw-p 00000000 00:00 0\n"
      "7f0000007000-7f0000008000 rw-s 00000000 00:01 6  /dev/shm/liburing\n";
  EXPECT_EQ(
      describe_libraries(maps),
      (nlohmann::json{{"libhdf5_openmpi", "103.3.0"}, {"libz", "1.2.13"}, {"libmpi", "unknown"}}));
  EXPECT_EQ(describe_libraries(""), nlohmann::json::object());
}

TEST(Network, ListsCardsWithADeviceAndAdapters) {
  std::string folder = testing::TempDir() + "weir-class-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto write = [&folder](const std::string& file, const char* text) {
    const std::filesystem::path path = folder + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  };
  write("net/eth0/operstate", "up");
  write("net/eth0/mtu", "9000");
  write("net/eth0/speed", "100000");
  std::filesystem::create_directories(folder + "/net/eth0/device");
  std::filesystem::create_symlink("/sys/bus/pci/drivers/mlx5_core",
                                  folder + "/net/eth0/device/driver");
  write("net/eth1/speed", "-1");
  std::filesystem::create_directories(folder + "/net/eth1/device");
  write("net/lo/operstate", "unknown");
  write("infiniband/mlx5_0/fw_ver", "20.31.1014");
  write("infiniband/mlx5_0/hca_type", "MT4123");
  write("infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)");
  write("infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  const nlohmann::json cards = describe_network(folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(cards, (nlohmann::json{
                       {"eth0",
                        {{"driver", "mlx5_core"},
                         {"state", "up"},
                         {"mtu_bytes", 9000},
                         {"megabits_per_second", 100000}}},
                       {"eth1",
                        {{"driver", "unknown"},
                         {"state", "unknown"},
                         {"mtu_bytes", "unknown"},
                         {"megabits_per_second", "unknown"}}},
                       {"mlx5_0",
                        {{"firmware", "20.31.1014"},
                         {"model", "MT4123"},
                         {"port_1", {{"rate", "200 Gb/sec (4X HDR)"}, {"state", "4: ACTIVE"}}}}}}));
  EXPECT_EQ(describe_network("/nonexistent"), nlohmann::json::object());
}

TEST(Scheduler, IsNamedByTheVariablesOfItsJob) {
  std::map<std::string, std::string> variables;
  const auto variable = [&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  EXPECT_EQ(describe_scheduler(variable), (nlohmann::json{{"name", "none"}}));
  variables = {{"PBS_JOBID", "17.server"}, {"PBS_QUEUE", "large"}, {"SLURM_NTASKS", "2"}};
  EXPECT_EQ(describe_scheduler(variable),
            (nlohmann::json{{"name", "PBS"}, {"job_id", "17.server"}, {"queue", "large"}}));
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
