// Wrappers of libc's functions on open files: functions that query files, make them durable, and
// move bytes.
//
// Declarations here repeat those of libc's headers, with their argument names and C style.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "adapters/calls/counted.hpp"

using weir::calls::at_position;
using weir::calls::CallKind;
using weir::calls::counted;
using weir::calls::counted_in_order;
using weir::calls::counted_moving;
using weir::calls::Operation;

extern "C" {

int fstat(int descriptor, struct stat* found) noexcept {
  WEIR_REAL(fstat);
  return counted(Operation::stat, descriptor, [&] { return real(descriptor, found); });
}

int fstat64(int descriptor, struct stat64* found) noexcept {
  WEIR_REAL(fstat64);
  return counted(Operation::stat, descriptor, [&] { return real(descriptor, found); });
}

int __fxstat(int version, int descriptor, struct stat* found);
int __fxstat(int version, int descriptor, struct stat* found) {
  WEIR_REAL(__fxstat);
  return counted(Operation::stat, descriptor, [&] { return real(version, descriptor, found); });
}

int __fxstat64(int version, int descriptor, struct stat64* found);
int __fxstat64(int version, int descriptor, struct stat64* found) {
  WEIR_REAL(__fxstat64);
  return counted(Operation::stat, descriptor, [&] { return real(version, descriptor, found); });
}

#define WEIR_FILE_SYSTEM(name, type)                         \
  int name(int descriptor, struct type* found) noexcept {    \
    WEIR_REAL(name);                                         \
    return counted(Operation::stat_file_system, descriptor,  \
                   [&] { return real(descriptor, found); }); \
  }

WEIR_FILE_SYSTEM(fstatfs, statfs)
WEIR_FILE_SYSTEM(fstatfs64, statfs64)
WEIR_FILE_SYSTEM(fstatvfs, statvfs)
WEIR_FILE_SYSTEM(fstatvfs64, statvfs64)

int ftruncate(int descriptor, off_t bytes) noexcept {
  WEIR_REAL(ftruncate);
  return counted_in_order(Operation::truncate, CallKind::truncate, descriptor, bytes,
                          [&] { return real(descriptor, bytes); });
}

int ftruncate64(int descriptor, off64_t bytes) noexcept {
  WEIR_REAL(ftruncate64);
  return counted_in_order(Operation::truncate, CallKind::truncate, descriptor, bytes,
                          [&] { return real(descriptor, bytes); });
}

int fchmod(int descriptor, mode_t mode) noexcept {
  WEIR_REAL(fchmod);
  return counted(Operation::change_mode, descriptor, [&] { return real(descriptor, mode); });
}

int futimens(int descriptor, const struct timespec times[2]) noexcept {
  WEIR_REAL(futimens);
  return counted(Operation::change_times, descriptor, [&] { return real(descriptor, times); });
}

int fsync(int descriptor) {
  WEIR_REAL(fsync);
  return counted_in_order(Operation::sync, CallKind::sync, descriptor, 0,
                          [&] { return real(descriptor); });
}

int fdatasync(int descriptor) {
  WEIR_REAL(fdatasync);
  return counted_in_order(Operation::sync, CallKind::sync, descriptor, 0,
                          [&] { return real(descriptor); });
}

ssize_t read(int descriptor, void* bytes, size_t size) {
  WEIR_REAL(read);
  return counted_moving(Operation::read, descriptor, at_position,
                        [&] { return real(descriptor, bytes, size); });
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  WEIR_REAL(write);
  return counted_moving(Operation::write, descriptor, at_position,
                        [&] { return real(descriptor, bytes, size); });
}

// The other functions: `name(descriptor, what, how_much, offset)`.
#define WEIR_MOVE(name, operation, bytes_type, size_type, offset_type)                 \
  ssize_t name(int descriptor, bytes_type bytes, size_type size, offset_type offset) { \
    WEIR_REAL(name);                                                                   \
    return counted_moving(Operation::operation, descriptor, offset,                    \
                          [&] { return real(descriptor, bytes, size, offset); });      \
  }

WEIR_MOVE(pread, read, void*, size_t, off_t)
WEIR_MOVE(pread64, read, void*, size_t, off64_t)
WEIR_MOVE(pwrite, write, const void*, size_t, off_t)
WEIR_MOVE(pwrite64, write, const void*, size_t, off64_t)
WEIR_MOVE(preadv, read, const struct iovec*, int, off_t)
WEIR_MOVE(preadv64, read, const struct iovec*, int, off64_t)
WEIR_MOVE(pwritev, write, const struct iovec*, int, off_t)
WEIR_MOVE(pwritev64, write, const struct iovec*, int, off64_t)

// Functions that also take flags.
#define WEIR_MOVE_WITH_FLAGS(name, operation, offset_type)                                \
  ssize_t name(int descriptor, const struct iovec* parts, int count, offset_type offset,  \
               int flags) {                                                               \
    WEIR_REAL(name);                                                                      \
    return counted_moving(Operation::operation, descriptor, offset,                       \
                          [&] { return real(descriptor, parts, count, offset, flags); }); \
  }

WEIR_MOVE_WITH_FLAGS(preadv2, read, off_t)
WEIR_MOVE_WITH_FLAGS(preadv64v2, read, off64_t)
WEIR_MOVE_WITH_FLAGS(pwritev2, write, off_t)
WEIR_MOVE_WITH_FLAGS(pwritev64v2, write, off64_t)

// Functions called by programs that were compiled with _FORTIFY_SOURCE.
ssize_t __read_chk(int descriptor, void* bytes, size_t size, size_t room);
ssize_t __read_chk(int descriptor, void* bytes, size_t size, size_t room) {
  WEIR_REAL(__read_chk);
  return counted_moving(Operation::read, descriptor, at_position,
                        [&] { return real(descriptor, bytes, size, room); });
}

ssize_t __pread_chk(int descriptor, void* bytes, size_t size, off_t offset, size_t room);
ssize_t __pread_chk(int descriptor, void* bytes, size_t size, off_t offset, size_t room) {
  WEIR_REAL(__pread_chk);
  return counted_moving(Operation::read, descriptor, offset,
                        [&] { return real(descriptor, bytes, size, offset, room); });
}

ssize_t __pread64_chk(int descriptor, void* bytes, size_t size, off64_t offset, size_t room);
ssize_t __pread64_chk(int descriptor, void* bytes, size_t size, off64_t offset, size_t room) {
  WEIR_REAL(__pread64_chk);
  return counted_moving(Operation::read, descriptor, offset,
                        [&] { return real(descriptor, bytes, size, offset, room); });
}

ssize_t readv(int descriptor, const struct iovec* parts, int count) {
  WEIR_REAL(readv);
  return counted_moving(Operation::read, descriptor, at_position,
                        [&] { return real(descriptor, parts, count); });
}

ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  WEIR_REAL(writev);
  return counted_moving(Operation::write, descriptor, at_position,
                        [&] { return real(descriptor, parts, count); });
}

}  // extern "C"
