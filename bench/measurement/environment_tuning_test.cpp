// The files are as the systems have them, but are made here: no machine has all file systems.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "measurement/environment.hpp"

namespace weir::bench {
namespace {

using nlohmann::json;

class Tuning : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "weir-tuning-XXXXXX";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text, mode_t mode = 0644) {
    const std::filesystem::path path = root_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }
  static storage::Mount mount(const char* type, const char* source, const char* options,
                              const char* device) {
    return {.device = device, .point = "/", .options = options, .type = type, .source = source};
  }
  [[nodiscard]] json of(const storage::Mount& mounted) const {
    return describe_tuning(mounted, root_);
  }

 private:
  std::string root_;
};

TEST_F(Tuning, OfExt4IsWhatAnAdministratorCanSet) {
  write("sys/class/bdi/8:1/read_ahead_kb", "128");
  write("sys/fs/ext4/sda1/mb_stream_req", "16");
  write("sys/fs/ext4/sda1/inode_readahead_blks", "32");
  write("sys/fs/ext4/sda1/lifetime_write_kbytes", "999", 0444);
  write("sys/fs/ext4/sda1/last_trim_minblks", "7");
  write("sys/fs/ext4/sdb1/mb_stream_req", "17");
  const json told = of(mount("ext4", "/dev/sda1", "rw", "8:1"));
  EXPECT_EQ(told["tunables"],
            (json{{"read_ahead_kb", 128}, {"mb_stream_req", 16}, {"inode_readahead_blks", 32}}));
  EXPECT_TRUE(told["version"].get<std::string>().starts_with("kernel ")) << told;
}

TEST_F(Tuning, OfLustreIsThatOfItsMountAndTargets) {
  write("sys/fs/lustre/version", "2.15.3");
  write("sys/fs/lustre/llite/scratch-ffff8800/max_read_ahead_mb", "256");
  write("sys/fs/lustre/llite/scratch-ffff8800/checksums", "1");
  write("sys/fs/lustre/llite/home-ffff8801/max_read_ahead_mb", "64");
  write("sys/fs/lustre/osc/scratch-OST0000-osc-ffff8800/max_rpcs_in_flight", "8");
  write("sys/fs/lustre/osc/scratch-OST0001-osc-ffff8800/max_rpcs_in_flight", "9");
  write("sys/fs/lustre/osc/scratch-OST0000-osc-ffff8800/checksum_type", "crc32 [adler] crc32c");
  EXPECT_EQ(of(mount("lustre", "10.0.0.1@o2ib:/scratch", "rw,flock", "0:50")),
            (json{{"version", "2.15.3"},
                  {"tunables",
                   {{"max_read_ahead_mb", 256},
                    {"checksums", 1},
                    {"osc_max_rpcs_in_flight", 8},
                    {"osc_checksum_type", "adler"}}}}));
}

TEST_F(Tuning, OfOlderLustreIsInProc) {
  write("proc/fs/lustre/version", "lustre: 2.5.29\nkernel: patchless_client\nbuild: 2.5.29-1");
  write("proc/fs/lustre/llite/scratch-ffff8800/max_read_ahead_mb", "40");
  // The lines are those of ll_max_cached_mb_seq_show() in Lustre's llite/lproc_llite.c.
  write("proc/fs/lustre/llite/scratch-ffff8800/max_cached_mb",
        "users: 5\nmax_cached_mb: 48253\nused_mb: 12\nunused_mb: 48241\nreclaim_count: 0");
  EXPECT_EQ(of(mount("lustre", "10.0.0.1@tcp:/scratch", "rw", "0:50")),
            (json{{"version", "2.5.29"},
                  {"tunables", {{"max_read_ahead_mb", 40}, {"max_cached_mb", 48253}}}}));
}

TEST_F(Tuning, OfAFolderOfLustreIsThatOfItsFileSystem) {
  write("sys/fs/lustre/llite/scratch-ffff8800/max_read_ahead_mb", "256");
  write("sys/fs/lustre/llite/home-ffff8801/max_read_ahead_mb", "64");
  const auto told = of(mount("lustre", "10.0.0.1@tcp:10.0.0.2@tcp:/scratch/home", "rw", "0:50"));
  EXPECT_EQ(told["tunables"], (json{{"max_read_ahead_mb", 256}}));
  EXPECT_EQ(of(mount("lustre", "scratch", "rw", "0:50"))["tunables"], json::object());
}

TEST_F(Tuning, OfNfsHasItsProtocolAndReadAhead) {
  write("sys/class/bdi/0:51/read_ahead_kb", "15360");
  write("proc/sys/sunrpc/tcp_max_slot_table_entries", "65536");
  const json told = of(mount("nfs4", "server:/export", "rw,vers=4.2,rsize=1048576", "0:51"));
  EXPECT_EQ(told["tunables"],
            (json{{"read_ahead_kb", 15360}, {"tcp_max_slot_table_entries", 65536}}));
  EXPECT_TRUE(told["version"].get<std::string>().starts_with("protocol 4.2, kernel ")) << told;
}

TEST_F(Tuning, VersionsOfOtherDriversAreThoseOfTheirModules) {
  write("sys/module/zfs/version", "2.1.11-1");
  write("sys/module/zfs/parameters/zfs_arc_max", "0");
  write("sys/module/beegfs/version", "7.4.2");
  write("proc/fs/beegfs/1A-65/config", "connAuthFile = /etc/s3cret\ntuneFileCacheType = native");
  write("sys/module/mmfs26/version", "5.1.9");
  write("sys/module/cifs/version", "2.40");
  EXPECT_EQ(of(mount("zfs", "tank/data", "rw", "0:52")),
            (json{{"version", "2.1.11-1"}, {"tunables", {{"zfs_arc_max", 0}}}}));
  EXPECT_EQ(of(mount("beegfs", "beegfs_nodev", "rw", "0:53")),
            (json{{"version", "7.4.2"}, {"tunables", {{"tuneFileCacheType", "native"}}}}));
  EXPECT_EQ(of(mount("gpfs", "fs1", "rw", "0:54"))["version"], "5.1.9");
  EXPECT_EQ(of(mount("cifs", "//server/share", "rw,vers=3.1.1", "0:55"))["version"],
            "protocol 3.1.1, driver 2.40");
}

TEST_F(Tuning, OfBtrfsXfsAndFuseIsInTheirFolders) {
  write("sys/fs/btrfs/1234/devices/sdc", "");
  write("sys/fs/btrfs/1234/nodesize", "16384", 0444);
  write("sys/fs/btrfs/features/quota", "1");
  write("proc/sys/fs/xfs/xfssyncd_centisecs", "3000");
  write("sys/fs/fuse/connections/56/max_background", "12");
  EXPECT_EQ(of(mount("btrfs", "/dev/sdc", "rw", "0:40"))["tunables"], (json{{"nodesize", 16384}}));
  EXPECT_EQ(of(mount("xfs", "/dev/sdd", "rw", "8:48"))["tunables"],
            (json{{"xfssyncd_centisecs", 3000}}));
  EXPECT_EQ(of(mount("fuse.glusterfs", "host:/volume", "rw", "0:56")),
            (json{{"version", "unknown"}, {"tunables", {{"max_background", 12}}}}));
}

TEST_F(Tuning, IsUnknownWhereNothingTells) {
  EXPECT_EQ(of(mount("lustre", "10.0.0.1@tcp:/scratch", "rw", "0:50")),
            (json{{"version", "unknown"}, {"tunables", json::object()}}));
  EXPECT_EQ(of(mount("", "", "", "")),
            (json{{"version", "unknown"}, {"tunables", json::object()}}));
}

TEST_F(Tuning, IsBounded) {
  constexpr int most_tunables = 128;
  for (int i = 0; i <= most_tunables; ++i) {
    write("sys/fs/ext4/sda/" + std::to_string(1000 + i), std::string(257, 'x'));
  }
  const json tunables = of(mount("ext4", "/dev/sda", "rw", "8:0"))["tunables"];
  EXPECT_EQ(tunables.size(), most_tunables);
  EXPECT_EQ(tunables["1000"], std::string(256, 'x'));
}

}  // namespace
}  // namespace weir::bench
