#include "system/file_replacement.hpp"

#include <fcntl.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): ::rename is POSIX
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "system/slices.hpp"
#include "system/text_file.hpp"
#include "system/uninterrupted.hpp"

namespace weir::storage {
namespace {

constexpr mode_t permissions = 07777;
// Linux keeps the access control list of a file in this attribute, also on NFS version 3.
constexpr const char* access_list = "system.posix_acl_access";
// The largest value of an attribute (xattr(7)).
constexpr std::size_t longest_attribute = 65536;

int open_at(const std::string& place, int flags) {
  return uninterrupted([&] {
    return ::open(place.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, new_file_mode);
  });
}

// Opens the file that an earlier attempt of this user left. Its name stays in the folder all the
// time, because it may indicate that a step is being written. Returns nothing if anything else is
// there.
std::optional<File> open_left_file(const std::string& place) {
  const int descriptor = open_at(place, O_NONBLOCK);  // a pipe without a reader does not block
  if (descriptor < 0) return std::nullopt;
  File file = File::passed(descriptor, place, 0);
  struct stat information {};
  const bool is_own = ::fstat(descriptor, &information) == 0 && S_ISREG(information.st_mode) &&
                      information.st_nlink == 1 && information.st_uid == ::geteuid();
  if (!is_own || !file.set_length(0).ok()) return std::nullopt;
  return file;
}

// Gives the file the owner, group, mode and access control list of the file at `path`, as far as
// this user may set them: a user who may not can still replace the file.
void take_permissions(const File& file, const std::string& path) {
  struct stat before {};
  if (::lstat(path.c_str(), &before) != 0 || !S_ISREG(before.st_mode)) return;
  if (::fchown(file.descriptor(), before.st_uid, before.st_gid) != 0) {
    (void)!::fchown(file.descriptor(), static_cast<uid_t>(-1), before.st_gid);
  }
  (void)::fchmod(file.descriptor(), before.st_mode & permissions);
  std::array<char, longest_attribute> list{};
  const ssize_t bytes = ::lgetxattr(path.c_str(), access_list, list.data(), list.size());
  if (bytes > 0) {
    (void)::fsetxattr(file.descriptor(), access_list, list.data(), static_cast<std::size_t>(bytes),
                      0);
  }
}

// Makes `place`, an empty file that has the permissions of the file at `path`.
Result<File> begin_at(const std::string& place, const std::string& path) {
  int descriptor = open_at(place, O_CREAT | O_EXCL);
  std::optional<File> file;
  if (descriptor < 0 && errno == EEXIST) {
    file = open_left_file(place);
    if (!file) {
      if (Status removed = remove_file(place); !removed.ok()) return removed.error();
      descriptor = open_at(place, O_CREAT | O_EXCL);
    }
  }
  if (!file) {
    if (descriptor < 0) return system_failure("open", place, -1, errno);
    file = File::passed(descriptor, place, 0);
  }
  take_permissions(*file, path);
  return std::move(*file);
}

Result<File> write_at(const std::string& place, const std::string& path, std::string text) {
  auto file = begin_at(place, path);
  if (!file || text.empty()) return file;
  const Slice slice{reinterpret_cast<std::byte*>(text.data()),
                    static_cast<std::int64_t>(text.size())};
  std::int64_t calls = 0;
  const Status written = write_slices(file.value(), {&slice, 1}, 0, calls);
  return written.ok() ? std::move(file) : written.error();
}

}  // namespace

std::string replacement_path(const std::string& path) { return path + ".new"; }

Result<File> begin_replacement(const std::string& path) {
  return begin_at(replacement_path(path), path);
}

Status finish_replacement(File& file, const std::string& path, bool durable) {
  if (durable) {
    if (Status synced = file.sync(); !synced.ok()) return synced;
  }
  if (Status closed = file.close(); !closed.ok()) return closed;
  return rename_replacement(file, path);
}

Status write_replacement(const std::string& path, std::string text) {
  auto file = write_at(replacement_path(path), path, std::move(text));
  return file ? file.value().close() : Status(file.error());
}

Status replace_file(const std::string& path, std::string text, bool durable) {
  auto file = write_at(replacement_path(path), path, std::move(text));
  return file ? finish_replacement(file.value(), path, durable) : Status(file.error());
}

Status replace_beside_announcement(const std::string& path, std::string text, bool durable) {
  auto file = write_at(path + ".renewed", path, std::move(text));
  return file ? finish_replacement(file.value(), path, durable) : Status(file.error());
}

Status rename_announced(const std::string& path, const std::string& text) {
  const std::string place = replacement_path(path);
  const auto found = read_text_file(place, text.size());
  if (!found) return found.error();
  if (found.value() != text) {
    return Error(ErrorCode::io,
                 "another program has changed it while a step was being written; let only one "
                 "program write to the file, and write the step again",
                 place);
  }
  if (::rename(place.c_str(), path.c_str()) != 0) return system_failure("rename", path, -1, errno);
  return {};
}

Status rename_replacement(File& file, const std::string& path) {
  if (::rename(file.path().c_str(), path.c_str()) != 0) {
    return system_failure("rename", path, -1, errno);
  }
  file.renamed(path);
  return {};
}

}  // namespace weir::storage
