#include "checksums/file_state.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace weir::storage {
namespace {

FileState state_of(const struct stat& information) {
  return {information.st_dev, information.st_ino, information.st_size, information.st_mtim.tv_sec,
          information.st_mtim.tv_nsec};
}

}  // namespace

std::optional<FileState> state_of_file(const std::string& path) {
  struct stat information {};
  if (::stat(path.c_str(), &information) != 0) {
    return errno == ENOENT ? std::optional(FileState()) : std::nullopt;
  }
  return state_of(information);
}

std::optional<FileState> state_of_file(int descriptor) {
  struct stat information {};
  if (::fstat(descriptor, &information) != 0) return std::nullopt;
  return state_of(information);
}

}  // namespace weir::storage
