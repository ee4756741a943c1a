// A library to preload, which makes a folder look like Lustre, as far as the placement of files is
// concerned. What it shows is which targets are asked for, and that what a file has is compared
// with that; it says nothing about how Lustre treats the requests.
//
//   WEIR_LUSTRE_MOUNTS   a file that is read in place of /proc/self/mountinfo
//   WEIR_LUSTRE_ASKED    a folder, in which the command `lfs` of the test writes the list of
//   targets
//                        of FOLDER into a file with its last name
//   WEIR_LUSTRE_MOVED    if set, files of this folder, by its last name, are on the next target
//
// A file has the targets of its folder. Its attribute "lustre.lov" is a lov_user_md_v1 of Lustre's
// lustre_user.h: a magic number, a pattern, two numbers of 64 bits, the stripe size, the number of
// stripes and a generation; then for each stripe two numbers of 64 bits, a generation and the index
// of its target.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/xattr.h>

enum { most_stripes = 64, header_bytes = 32, object_bytes = 24, target_at = 20 };

// Declares `real`, the function that this library stands in front of.
#define REAL(type, name, ...)       \
  static type (*real)(__VA_ARGS__); \
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, name)

static const char* instead_of(const char* path) {
  const char* mounts = getenv("WEIR_LUSTRE_MOUNTS");
  return mounts != NULL && strcmp(path, "/proc/self/mountinfo") == 0 ? mounts : path;
}

// A call has a mode only if it may create a file.
#define OPEN_INSTEAD(name)                                               \
  int name(const char* path, int flags, ...) {                           \
    REAL(int, #name, const char*, int, ...);                             \
    if (!__OPEN_NEEDS_MODE(flags)) return real(instead_of(path), flags); \
    va_list more;                                                        \
    va_start(more, flags);                                               \
    const mode_t mode = va_arg(more, mode_t);                            \
    va_end(more);                                                        \
    return real(path, flags, mode);                                      \
  }

OPEN_INSTEAD(open)
OPEN_INSTEAD(open64)

// Returns the number of stripes of files in the folder of `path`; 0 if none were asked for.
static uint16_t stripes_of(const char* path, uint32_t* targets) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s", path);
  char* end = strrchr(folder, '/');
  if (end == NULL) return 0;
  *end = '\0';
  const char* last = strrchr(folder, '/');
  const char* name = last == NULL ? folder : last + 1;
  char asked[2 * PATH_MAX];
  const char* all = getenv("WEIR_LUSTRE_ASKED");
  snprintf(asked, sizeof asked, "%s/%s", all == NULL ? "" : all, name);
  FILE* list = fopen(asked, "r");
  if (list == NULL) return 0;
  const char* moved = getenv("WEIR_LUSTRE_MOVED");
  const uint32_t further = moved != NULL && strstr(name, moved) != NULL ? 1 : 0;
  uint16_t stripes = 0;
  char line[16 * most_stripes];
  char* next = fgets(line, sizeof line, list);
  fclose(list);
  while (next != NULL && stripes < most_stripes) {
    char* stop = next;
    const unsigned long target = strtoul(next, &stop, 10);
    if (stop == next) break;
    targets[stripes++] = (uint32_t)target + further;
    next = *stop == ',' ? stop + 1 : NULL;
  }
  return stripes;
}

ssize_t getxattr(const char* path, const char* name, void* value, size_t size) {
  REAL(ssize_t, "getxattr", const char*, const char*, void*, size_t);
  if (strcmp(name, "lustre.lov") != 0) return real(path, name, value, size);
  uint32_t targets[most_stripes];
  const uint16_t stripes = stripes_of(path, targets);
  if (stripes == 0) {
    errno = ENODATA;
    return -1;
  }
  const size_t bytes = header_bytes + (size_t)stripes * object_bytes;
  if (size == 0) return (ssize_t)bytes;
  if (size < bytes) {
    errno = ERANGE;
    return -1;
  }
  char* to = value;
  memset(to, 0, bytes);
  memcpy(to, &(uint32_t){0x0BD10BD0}, 4);
  memcpy(to + 4, &(uint32_t){1}, 4);
  memcpy(to + 24, &(uint32_t){1 << 20}, 4);
  memcpy(to + 28, &stripes, 2);
  for (uint16_t i = 0; i < stripes; ++i) {
    memcpy(to + header_bytes + i * object_bytes + target_at, &targets[i], 4);
  }
  return (ssize_t)bytes;
}
