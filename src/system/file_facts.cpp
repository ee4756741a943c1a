#include "system/file_facts.hpp"

#include <fcntl.h>
#include <linux/magic.h>

#include <cerrno>

namespace weir::storage {

std::optional<FileIdentity> identity_in(const struct statx& about, const struct statfs& system) {
  if (system.f_type == FUSE_SUPER_MAGIC) return std::nullopt;
  FileIdentity identity{.inode = about.stx_ino};
  if ((about.stx_mask & STATX_BTIME) != 0) {
    identity.birth_seconds = about.stx_btime.tv_sec;
    identity.birth_nanoseconds = about.stx_btime.tv_nsec;
  }
  return identity;
}

Result<FileFacts> facts_of(const std::string& path) {
  struct statx about {};
  struct statfs system {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS | STATX_BTIME, &about) != 0) {
    return system_failure("stat", path, -1, errno);
  }
  if (::statfs(path.c_str(), &system) != 0) return system_failure("statfs", path, -1, errno);
  return FileFacts{.file_system = static_cast<std::uint32_t>(system.f_type),
                   .mode = about.stx_mode,
                   .bytes = static_cast<std::int64_t>(about.stx_size),
                   .block_bytes = about.stx_blksize,
                   .identity = identity_in(about, system)};
}

}  // namespace weir::storage
