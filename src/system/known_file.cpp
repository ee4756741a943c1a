#include "system/known_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "system/file_facts.hpp"

namespace weir::storage {
namespace {

std::optional<FileIdentity> identity_at(int descriptor, const char* path, int flags,
                                        const struct statfs& system) {
  struct statx about {};
  if (::statx(descriptor, path, flags, STATX_INO | STATX_BTIME, &about) != 0) return std::nullopt;
  return identity_in(about, system);
}

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0) return std::nullopt;
  return identity_at(AT_FDCWD, path.c_str(), 0, system);
}

std::optional<FileIdentity> identity_of(int descriptor) {
  struct statfs system {};
  if (::fstatfs(descriptor, &system) != 0) return std::nullopt;
  return identity_at(descriptor, "", AT_EMPTY_PATH, system);
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
