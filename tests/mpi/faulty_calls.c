#define _GNU_SOURCE
#include "faulty_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

// The C library's names for parameters are reserved; what is to fail is the process's.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name,bugprone-macro-parentheses)
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
static const char* wanted_call = "";
static const char* wanted_part = "";
static int wanted_error;
static int struck;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void fail_next(const char* call, const char* path_part, int error) {
  wanted_part = path_part;
  wanted_error = error;
  struck = 0;
  wanted_call = call;
}

int has_failed(void) {
  const int failed = struck;
  wanted_call = "";
  struck = 0;
  return failed;
}

// Sets errno when this is the call.
static int strikes(const char* call, const char* path) {
  if (strcmp(call, wanted_call) != 0 || strstr(path, wanted_part) == NULL) return 0;
  wanted_call = "";
  struck = 1;
  errno = wanted_error;
  return 1;
}

// MPI has descriptors of its own.
static int strikes_descriptor(const char* call, int descriptor) {
  if (strcmp(call, wanted_call) != 0) return 0;
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strikes(call, path);
}

// Defines the call `name`; `fails` says whether this one is to fail. The assignment through void**
// is the one that POSIX gives for dlsym().
#define CALL(type, name, parameters, arguments, fails, failure) \
  type name parameters {                                        \
    static type(*real) parameters;                              \
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #name); \
    if (fails) return failure;                                  \
    return real arguments;                                      \
  }

CALL(int, mkdirat, (int at, const char* path, mode_t mode), (at, path, mode),
     strikes("mkdirat", path), -1)
CALL(int, unlinkat, (int at, const char* path, int flags), (at, path, flags),
     strikes("unlinkat", path), -1)
CALL(int, fstatat, (int at, const char* path, struct stat* found, int flags),
     (at, path, found, flags), strikes("fstatat", path), -1)
CALL(int, fchmodat, (int at, const char* path, mode_t mode, int flags), (at, path, mode, flags),
     strikes("fchmodat", path), -1)
CALL(int, utimensat, (int at, const char* path, const struct timespec times[2], int flags),
     (at, path, times, flags), strikes("utimensat", path), -1)
CALL(int, renameat, (int at, const char* path, int to, const char* other), (at, path, to, other),
     strikes("renameat", path), -1)
CALL(int, linkat, (int at, const char* path, int to, const char* other, int flags),
     (at, path, to, other, flags), strikes("linkat", path), -1)
CALL(int, symlinkat, (const char* target, int at, const char* path), (target, at, path),
     strikes("symlinkat", path), -1)
CALL(ssize_t, readlinkat, (int at, const char* path, char* target, size_t bytes),
     (at, path, target, bytes), strikes("readlinkat", path), -1)
CALL(int, truncate, (const char* path, off_t bytes), (path, bytes), strikes("truncate", path), -1)
CALL(int, setxattr,
     (const char* path, const char* name, const void* value, size_t bytes, int flags),
     (path, name, value, bytes, flags), strikes("setxattr", path), -1)
CALL(ssize_t, getxattr, (const char* path, const char* name, void* value, size_t bytes),
     (path, name, value, bytes), strikes("getxattr", path), -1)
CALL(DIR*, opendir, (const char* path), (path), strikes("opendir", path), NULL)
CALL(struct dirent*, readdir, (DIR * directory), (directory),
     strikes_descriptor("readdir", dirfd(directory)), NULL)
CALL(ssize_t, write, (int descriptor, const void* data, size_t bytes), (descriptor, data, bytes),
     strikes_descriptor("write", descriptor), -1)
CALL(ssize_t, read, (int descriptor, void* data, size_t bytes), (descriptor, data, bytes),
     strikes_descriptor("read", descriptor), -1)

int close(int descriptor) {
  static int (*real)(int);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "close");
  const int fails = strikes_descriptor("close", descriptor);
  const int error = errno;
  const int closed = real(descriptor);  // a descriptor is gone also where closing fails
  if (!fails) return closed;
  errno = error;
  return -1;
}

int openat(int at, const char* path, int flags, ...) {
  static int (*real)(int, const char*, int, ...);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "openat");
  if (strikes("openat", path)) return -1;
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return real(at, path, flags, mode);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name,bugprone-macro-parentheses)
