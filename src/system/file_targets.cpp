#include "system/file_targets.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "common/page.hpp"
#include "system/lustre_layout.hpp"
#include "system/mounts.hpp"

namespace weir::storage {
namespace {

// A larger preferred block size is considered an error of the file system.
constexpr std::int64_t largest_block = std::int64_t{1} << 30;

// statfs's numbers of file systems whose nodes lock ranges of a file against each other.
constexpr std::uint32_t lustre_number = 0x0BD00BD0;
constexpr std::array<std::uint32_t, 6> locking = {
    lustre_number,
    0x47504653,  // GPFS
    0x00C36400,  // CephFS: capabilities of a file's objects
    0x01161970,  // GFS2
    0x7461636F,  // OCFS2
    0x18031977,  // WekaFS
};

// statfs's numbers of network file systems whose clients cache pages without being notified of the
// writes of other clients.
constexpr std::array<std::uint32_t, 10> without_coherence = {
    0x00006969,  // NFS, all versions
    0x0000517B,  // SMB
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB 2 and 3
    0x01021997,  // 9P
    0x5346414F,  // OpenAFS
    0x6B414653,  // AFS of the kernel
    0x73757245,  // Coda
    0x786F4256,  // shared folders of VirtualBox
    0x19830326,  // BeeGFS: buffers or pages of each client, in either mode of its cache
};
constexpr std::uint32_t fuse_number = 0x65735546;
constexpr std::array<std::string_view, 5> fuse_without_coherence = {
    "fuse.sshfs",     "fuse.rclone", "fuse.s3fs", "fuse.davfs",
    "fuse.glusterfs",  // a mount caches what it reads, and is told of other mounts' writes by an
                       // option of the volume only
};

}  // namespace

topology::FileTargets targets_of(std::uint32_t file_system, std::int64_t block_bytes,
                                 const std::optional<topology::FileTargets>& lustre) {
  topology::FileTargets targets = lustre.value_or(topology::FileTargets());
  std::int64_t block = targets.stripe_bytes > 0 ? targets.stripe_bytes : block_bytes;
  if (block > largest_block) block = 0;
  targets.stripe_bytes = block > page_bytes ? block : 0;
  if (std::find(locking.begin(), locking.end(), file_system) != locking.end()) {
    targets.lock_bytes = std::max(block, page_bytes);
  }
  return targets;
}

bool has_coherent_caches(std::uint32_t file_system, const std::string& mount_type) {
  const auto is_among = [](const auto& list, const auto& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  if (file_system == fuse_number) return !is_among(fuse_without_coherence, mount_type);
  return !is_among(without_coherence, file_system);
}

topology::FileTargets file_targets(const std::string& path, const FileFacts& facts) {
  const std::uint32_t type = facts.file_system;
  const auto layout = type == lustre_number ? lustre_layout_of(path) : std::nullopt;
  if (!layout) {
    topology::FileTargets targets = targets_of(type, facts.block_bytes);
    const auto mount = type == fuse_number ? mount_of(path) : std::nullopt;
    targets.coherent_caches = has_coherent_caches(type, mount ? mount->type : "");
    return targets;
  }
  std::int64_t count = 0;
  for (const char* const statistics : {"/sys/fs/lustre", "/proc/fs/lustre"}) {
    if (count == 0) count = lustre_target_count(path, mounts_of_this_process, statistics);
  }
  const std::int64_t bytes = S_ISREG(facts.mode) ? facts.bytes : 0;
  return targets_of(type, facts.block_bytes, lustre_targets(*layout, bytes, count));
}

}  // namespace weir::storage
