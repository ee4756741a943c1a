#include "system/unfollowed_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

Result<File> open_with(const std::string& path, int flags) {
  // A pipe without a reader is then refused at once.
  constexpr int always = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int descriptor =
      uninterrupted([&] { return ::open(path.c_str(), flags | always, new_file_mode); });
  if (descriptor < 0) return system_failure("open", path, -1, errno);
  File file = File::passed(descriptor, path, 0);
  struct stat about {};
  if (::fstat(descriptor, &about) != 0) return system_failure("stat", path, -1, errno);
  if (!S_ISREG(about.st_mode)) {
    return invalid_argument(
        "a file needs this name, which something other than a file has: "
        "remove it",
        path);
  }
  // io_uring would not wait for storage if the file had this flag.
  if (::fcntl(descriptor, F_SETFL, flags & O_ACCMODE) != 0) {
    return system_failure("fcntl", path, -1, errno);
  }
  return file;
}

}  // namespace

Result<File> make_unfollowed(const std::string& path) {
  return open_with(path, O_WRONLY | O_CREAT | O_EXCL);
}

Result<File> open_unfollowed(const std::string& path) { return open_with(path, O_WRONLY); }

Result<File> open_or_make_unfollowed(const std::string& path) {
  return open_with(path, O_RDWR | O_CREAT);
}

}  // namespace weir::storage
