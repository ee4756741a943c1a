#include "system/own_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace weir::storage {

Status make_own_folder(const std::string& folder, const std::string& what) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return system_failure("mkdir", folder, -1, errno);
  }
  struct stat about {};
  if (::lstat(folder.c_str(), &about) != 0) return system_failure("lstat", folder, -1, errno);
  const bool is_own = S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
                      (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  if (is_own) return {};
  return invalid_argument(
      fmt::format("{} must belong to you alone: remove it, or chmod 700 it", what), folder);
}

}  // namespace weir::storage
