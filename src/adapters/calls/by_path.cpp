// Wrappers of libc's functions that query, make, change and remove files by path.
//
// Declarations here repeat those of libc's headers, with their argument names and C style.
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): renameat2, remove
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "adapters/calls/counted.hpp"

using weir::calls::counted;
using weir::calls::counted_making;
using weir::calls::Operation;

// Functions that query a file: `name(path, second)`.
#define WEIR_LOOK(result, name, operation, second_type)                             \
  result name(const char* path, second_type second) noexcept {                      \
    WEIR_REAL(name);                                                                \
    return counted(Operation::operation, path, [&] { return real(path, second); }); \
  }

extern "C" {

WEIR_LOOK(int, stat, stat, struct stat*)
WEIR_LOOK(int, stat64, stat, struct stat64*)
WEIR_LOOK(int, lstat, stat, struct stat*)
WEIR_LOOK(int, lstat64, stat, struct stat64*)
WEIR_LOOK(int, access, access, int)
WEIR_LOOK(int, euidaccess, access, int)
WEIR_LOOK(int, chmod, change_mode, mode_t)
WEIR_LOOK(int, utime, change_times, const struct utimbuf*)
WEIR_LOOK(int, truncate, truncate, off_t)
WEIR_LOOK(int, truncate64, truncate, off64_t)
WEIR_LOOK(int, removexattr, attribute, const char*)
WEIR_LOOK(int, statfs, stat_file_system, struct statfs*)
WEIR_LOOK(int, statfs64, stat_file_system, struct statfs64*)
WEIR_LOOK(int, statvfs, stat_file_system, struct statvfs*)
WEIR_LOOK(int, statvfs64, stat_file_system, struct statvfs64*)

int utimes(const char* path, const struct timeval times[2]) noexcept {
  WEIR_REAL(utimes);
  return counted(Operation::change_times, path, [&] { return real(path, times); });
}

int fstatat(int folder, const char* path, struct stat* found, int flags) noexcept {
  WEIR_REAL(fstatat);
  return counted(Operation::stat, folder, path, [&] { return real(folder, path, found, flags); });
}

int fstatat64(int folder, const char* path, struct stat64* found, int flags) noexcept {
  WEIR_REAL(fstatat64);
  return counted(Operation::stat, folder, path, [&] { return real(folder, path, found, flags); });
}

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* found) noexcept {
  WEIR_REAL(statx);
  return counted(Operation::stat, folder, path,
                 [&] { return real(folder, path, flags, mask, found); });
}

// Functions called by programs that were compiled with a glibc before 2.33.
int __xstat(int version, const char* path, struct stat* found);
int __xstat(int version, const char* path, struct stat* found) {
  WEIR_REAL(__xstat);
  return counted(Operation::stat, path, [&] { return real(version, path, found); });
}

int __xstat64(int version, const char* path, struct stat64* found);
int __xstat64(int version, const char* path, struct stat64* found) {
  WEIR_REAL(__xstat64);
  return counted(Operation::stat, path, [&] { return real(version, path, found); });
}

int __lxstat(int version, const char* path, struct stat* found);
int __lxstat(int version, const char* path, struct stat* found) {
  WEIR_REAL(__lxstat);
  return counted(Operation::stat, path, [&] { return real(version, path, found); });
}

int __lxstat64(int version, const char* path, struct stat64* found);
int __lxstat64(int version, const char* path, struct stat64* found) {
  WEIR_REAL(__lxstat64);
  return counted(Operation::stat, path, [&] { return real(version, path, found); });
}

int __fxstatat64(int version, int folder, const char* path, struct stat64* found, int flags);
int __fxstatat64(int version, int folder, const char* path, struct stat64* found, int flags) {
  WEIR_REAL(__fxstatat64);
  return counted(Operation::stat, folder, path,
                 [&] { return real(version, folder, path, found, flags); });
}

int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  WEIR_REAL(faccessat);
  return counted(Operation::access, folder, path, [&] { return real(folder, path, mode, flags); });
}

ssize_t readlink(const char* path, char* bytes, size_t size) noexcept {
  WEIR_REAL(readlink);
  return counted(Operation::read_link, path, [&] { return real(path, bytes, size); });
}

ssize_t readlinkat(int folder, const char* path, char* bytes, size_t size) noexcept {
  WEIR_REAL(readlinkat);
  return counted(Operation::read_link, folder, path,
                 [&] { return real(folder, path, bytes, size); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  WEIR_REAL(mkdir);
  return counted_making(Operation::make_folder, AT_FDCWD, path, [&] { return real(path, mode); });
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  WEIR_REAL(mkdirat);
  return counted_making(Operation::make_folder, folder, path,
                        [&] { return real(folder, path, mode); });
}

int rmdir(const char* path) noexcept {
  WEIR_REAL(rmdir);
  return counted(Operation::remove_folder, path, [&] { return real(path); });
}

int unlink(const char* path) noexcept {
  WEIR_REAL(unlink);
  return counted(Operation::remove_file, path, [&] { return real(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  WEIR_REAL(unlinkat);
  return counted((flags & AT_REMOVEDIR) != 0 ? Operation::remove_folder : Operation::remove_file,
                 folder, path, [&] { return real(folder, path, flags); });
}

int remove(const char* path) noexcept {
  WEIR_REAL(remove);
  return counted(Operation::remove_file, path, [&] { return real(path); });
}

// A call with two paths is counted for the path that it makes.
int rename(const char* from, const char* to) noexcept {
  WEIR_REAL(rename);
  return counted_making(Operation::rename, AT_FDCWD, to, [&] { return real(from, to); });
}

int renameat(int from_folder, const char* from, int folder, const char* to) noexcept {
  WEIR_REAL(renameat);
  return counted_making(Operation::rename, folder, to,
                        [&] { return real(from_folder, from, folder, to); });
}

int renameat2(int from_folder, const char* from, int folder, const char* to,
              unsigned flags) noexcept {
  WEIR_REAL(renameat2);
  return counted_making(Operation::rename, folder, to,
                        [&] { return real(from_folder, from, folder, to, flags); });
}

int link(const char* from, const char* to) noexcept {
  WEIR_REAL(link);
  return counted_making(Operation::link, AT_FDCWD, to, [&] { return real(from, to); });
}

int linkat(int from_folder, const char* from, int folder, const char* to, int flags) noexcept {
  WEIR_REAL(linkat);
  return counted_making(Operation::link, folder, to,
                        [&] { return real(from_folder, from, folder, to, flags); });
}

int symlink(const char* from, const char* to) noexcept {
  WEIR_REAL(symlink);
  return counted_making(Operation::link, AT_FDCWD, to, [&] { return real(from, to); });
}

int symlinkat(const char* from, int folder, const char* to) noexcept {
  WEIR_REAL(symlinkat);
  return counted_making(Operation::link, folder, to, [&] { return real(from, folder, to); });
}

int chown(const char* path, uid_t owner, gid_t group) noexcept {
  WEIR_REAL(chown);
  return counted(Operation::change_mode, path, [&] { return real(path, owner, group); });
}

int fchmodat(int folder, const char* path, mode_t mode, int flags) noexcept {
  WEIR_REAL(fchmodat);
  return counted(Operation::change_mode, folder, path,
                 [&] { return real(folder, path, mode, flags); });
}

int utimensat(int folder, const char* path, const struct timespec times[2], int flags) noexcept {
  WEIR_REAL(utimensat);
  return counted(Operation::change_times, folder, path,
                 [&] { return real(folder, path, times, flags); });
}

ssize_t getxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  WEIR_REAL(getxattr);
  return counted(Operation::attribute, path, [&] { return real(path, name, value, size); });
}

int setxattr(const char* path, const char* name, const void* value, size_t size,
             int flags) noexcept {
  WEIR_REAL(setxattr);
  return counted(Operation::attribute, path, [&] { return real(path, name, value, size, flags); });
}

ssize_t listxattr(const char* path, char* names, size_t size) noexcept {
  WEIR_REAL(listxattr);
  return counted(Operation::attribute, path, [&] { return real(path, names, size); });
}

int chdir(const char* path) noexcept {
  WEIR_REAL(chdir);
  const int result = real(path);
  if (result == 0) weir::calls::forget_current_folder();
  return result;
}

int fchdir(int descriptor) noexcept {
  WEIR_REAL(fchdir);
  const int result = real(descriptor);
  if (result == 0) weir::calls::forget_current_folder();
  return result;
}

}  // extern "C"
