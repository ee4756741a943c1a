#include "system/known_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace weir::storage {
namespace {

std::optional<FileIdentity> identity_at(int descriptor, const char* path, int flags) {
  struct statx about {};
  if (::statx(descriptor, path, flags, STATX_INO | STATX_BTIME, &about) != 0) return std::nullopt;
  FileIdentity identity{.inode = about.stx_ino};
  if ((about.stx_mask & STATX_BTIME) != 0) {
    identity.birth_seconds = about.stx_btime.tv_sec;
    identity.birth_nanoseconds = about.stx_btime.tv_nsec;
  }
  return identity;
}

bool keeps_inodes(const struct statfs& system) { return system.f_type != FUSE_SUPER_MAGIC; }

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0 || !keeps_inodes(system)) return std::nullopt;
  return identity_at(AT_FDCWD, path.c_str(), 0);
}

std::optional<FileIdentity> identity_of(int descriptor) {
  struct statfs system {};
  if (::fstatfs(descriptor, &system) != 0 || !keeps_inodes(system)) return std::nullopt;
  return identity_at(descriptor, "", AT_EMPTY_PATH);
}

Status check_is_known(const KnownFile* known, const std::string& path, const Result<File>& opened) {
  if (known == nullptr) return {};
  const bool is_itself = path == known->path;
  if (is_itself && !opened) return {};  // the error of opening is more informative
  const auto now = is_itself ? identity_of(opened.value().descriptor()) : identity_of(known->path);
  if (now == known->identity) return {};
  return invalid_argument("it was replaced or removed after it was opened here: open it again",
                          known->path);
}

}  // namespace weir::storage
