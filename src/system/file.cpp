#include "system/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "system/uninterrupted.hpp"

namespace weir::storage {

Result<File> File::open(const std::string& path, const OpenOptions& options) {
  if (!options.read && !options.write) {
    return invalid_argument("cannot open " + path + ": neither reading nor writing was requested");
  }
  if (!options.write && options.truncate) {
    return invalid_argument("cannot open " + path +
                            ": it can be emptied only if it is opened for writing");
  }
  int flags = O_CLOEXEC;
  flags |= !options.write ? O_RDONLY : (options.read ? O_RDWR : O_WRONLY);
  if (options.create) flags |= O_CREAT;
  if (options.truncate) flags |= O_TRUNC;
  if (options.direct) flags |= O_DIRECT;
  // A hostile file may be a pipe. Without O_NONBLOCK, opening it for reading would wait for a
  // writer; with it, the later read at an offset fails.
  const bool may_wait = !options.write;
  if (may_wait) flags |= O_NONBLOCK;

  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), flags, new_file_mode); });
  if (descriptor < 0) {
    const int reason = errno;
    Error error = system_failure("open", path, -1, reason);
    if (reason == EINVAL && options.direct) {
      error.code = ErrorCode::unsupported;
      error.message += "; this file system does not support O_DIRECT: run without direct I/O";
    }
    return error;
  }
  File file(descriptor, path);
  // io_uring would not wait for storage if the file had this flag.
  if (may_wait && ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return system_failure("fcntl", path, -1, errno);
  }
  return file;
}

File File::passed(int descriptor, std::string path, std::uint32_t description) {
  File file(descriptor, std::move(path));
  file.description_ = description;
  return file;
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      description_(other.description_) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = std::exchange(other.descriptor_, -1);
    path_ = std::move(other.path_);
    description_ = other.description_;
  }
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status File::sync_data() const {
  if (uninterrupted([this] { return ::fdatasync(descriptor_); }) == 0) return {};
  return system_failure("fdatasync", path_, -1, errno);
}

Status File::sync() const {
  if (uninterrupted([this] { return ::fsync(descriptor_); }) == 0) return {};
  return system_failure("fsync", path_, -1, errno);
}

Status File::sync_file_system() const {
  if (uninterrupted([this] { return ::syncfs(descriptor_); }) == 0) return {};
  return system_failure("syncfs", path_, -1, errno);
}

Status File::set_length(std::int64_t bytes) const {
  if (uninterrupted([&] { return ::ftruncate(descriptor_, bytes); }) == 0) return {};
  return system_failure("ftruncate", path_, bytes, errno);
}

Status File::lengthen(std::int64_t bytes) const {
  struct stat information {};
  if (::fstat(descriptor_, &information) != 0) return system_failure("fstat", path_, -1, errno);
  return information.st_size < bytes ? set_length(bytes) : Status();
}

// Linux frees the descriptor even when close() fails, EINTR included: it must not be closed again.
Status File::close() {
  if (descriptor_ < 0) return {};
  if (::close(std::exchange(descriptor_, -1)) == 0) return {};
  const int reason = errno;
  if (reason == EINTR) return {};
  return system_failure("close", path_, -1, reason);
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_failure("unlink", path, -1, errno);
}

Status sync_data(std::span<const File* const> files) {
  if (files.size() > 1) {
    for (const File* const one : files) {
      // This call is only a hint: an error here also occurs below.
      (void)::sync_file_range(one->descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE);
    }
  }
  for (const File* const one : files) {
    if (Status synced = one->sync_data(); !synced.ok()) return synced;
  }
  return {};
}

}  // namespace weir::storage
