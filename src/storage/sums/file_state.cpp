#include "storage/sums/file_state.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace weir::storage {

std::optional<FileState> state_of_file(const std::string& path) {
  struct stat information {};
  if (::stat(path.c_str(), &information) != 0) {
    return errno == ENOENT ? std::optional(FileState()) : std::nullopt;
  }
  return FileState{information.st_dev, information.st_ino, information.st_size,
                   information.st_mtim.tv_sec, information.st_mtim.tv_nsec};
}

}  // namespace weir::storage
