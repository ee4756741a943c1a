#include "system/file_targets.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "system/text_file.hpp"

namespace weir::storage {
namespace {

using topology::FileTargets;

constexpr std::uint32_t ext4 = 0xEF53;
constexpr std::uint32_t nfs = 0x6969;
constexpr std::uint32_t lustre = 0x0BD00BD0;

TEST(FileTargets, AreWhatTheFileSystemTells) {
  EXPECT_EQ(targets_of(ext4, 4096), (FileTargets{1, 0, 0}));
  EXPECT_EQ(targets_of(nfs, 1 << 20), (FileTargets{1, 1 << 20, 0}));
  EXPECT_EQ(targets_of(lustre, 4 << 20), (FileTargets{1, 4 << 20, 4 << 20}));
  EXPECT_EQ(targets_of(lustre, 512), (FileTargets{1, 0, 4096}));
  EXPECT_EQ(targets_of(ext4, std::int64_t{1} << 40), (FileTargets{1, 0, 0}));
}

TEST(FileTargets, CachesThatAreNotCoherentAreKnownByType) {
  constexpr std::uint32_t fuse = 0x65735546;
  constexpr std::uint32_t smb3 = 0xFE534D42;
  constexpr std::uint32_t beegfs = 0x19830326;
  EXPECT_FALSE(has_coherent_caches(nfs, "nfs4"));
  EXPECT_FALSE(has_coherent_caches(smb3, "cifs"));
  EXPECT_FALSE(has_coherent_caches(beegfs, "beegfs"));
  EXPECT_FALSE(has_coherent_caches(fuse, "fuse.sshfs"));
  EXPECT_FALSE(has_coherent_caches(fuse, "fuse.glusterfs"));
  EXPECT_TRUE(has_coherent_caches(fuse, "fuse.ceph-fuse"));
  EXPECT_TRUE(has_coherent_caches(fuse, ""));
  EXPECT_TRUE(has_coherent_caches(ext4, "ext4"));
  EXPECT_TRUE(has_coherent_caches(lustre, "lustre"));
}

TEST(FileTargets, AreAskedOfTheSystem) {
  const auto facts = facts_of("/");
  ASSERT_TRUE(facts.ok());
  EXPECT_GE(file_targets("/", facts.value()).count, 1);
  const auto missing = facts_of("/nowhere/at/all");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().file, "/nowhere/at/all");
}

TEST(TextFile, IsReadUpToALimit) {
  std::string path = testing::TempDir() + "weir-text-XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::write(descriptor, "0123456789", 10), 10);
  ::close(descriptor);
  EXPECT_EQ(read_text_file(path, 100).value(), "0123456789");
  EXPECT_EQ(read_text_file(path, 4).value(), "01234");
  ::unlink(path.c_str());
  EXPECT_FALSE(read_text_file(path, 4).ok());
  EXPECT_FALSE(read_text_file("/", 4).ok());
}

}  // namespace
}  // namespace weir::storage
