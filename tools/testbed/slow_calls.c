/* Adds a fixed time to each call that reads or writes a file: loaded before the C library.
 *
 * WEIR_TESTBED_CALL_NANOSECONDS holds the time. Only calls on regular files and block devices are
 * slowed: an MPI library's sockets and pipes go on as they are. io_uring, mapped memory and the C
 * library's own buffered streams do not pass through here.
 *
 * The time is added after the call, by sleeping, and spun for the last part, since a sleep ends
 * late by up to some 50 microseconds. errno stays that of the call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

enum { SPUN_NANOSECONDS = 80000, SECOND = 1000000000 };

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (long long)time.tv_sec * SECOND + time.tv_nsec;
}

static void delay(int file) {
  const int error = errno;
  struct stat status;
  const char* text = getenv("WEIR_TESTBED_CALL_NANOSECONDS");
  if (text != NULL && fstat(file, &status) == 0 &&
      (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode))) {
    const long long end = now() + atoll(text);
    const long long sleep_end = end - SPUN_NANOSECONDS;
    if (now() < sleep_end) {
      struct timespec time = {.tv_sec = sleep_end / SECOND, .tv_nsec = sleep_end % SECOND};
      while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
      }
    }
    while (now() < end) {
    }
  }
  errno = error;
}

/* The next definition of a function after this library: that of the C library. */
#define SLOWED(name, parameters, arguments)                  \
  ssize_t name parameters {                                  \
    static ssize_t(*next) parameters;                        \
    if (next == NULL) {                                      \
      next = (ssize_t(*) parameters)dlsym(RTLD_NEXT, #name); \
      if (next == NULL) {                                    \
        errno = ENOSYS;                                      \
        return -1;                                           \
      }                                                      \
    }                                                        \
    const ssize_t moved = next arguments;                    \
    delay(file);                                             \
    return moved;                                            \
  }

SLOWED(read, (int file, void* data, size_t size), (file, data, size))
SLOWED(write, (int file, const void* data, size_t size), (file, data, size))
SLOWED(pread, (int file, void* data, size_t size, off_t offset), (file, data, size, offset))
SLOWED(pwrite, (int file, const void* data, size_t size, off_t offset), (file, data, size, offset))
SLOWED(pread64, (int file, void* data, size_t size, off64_t offset), (file, data, size, offset))
SLOWED(pwrite64, (int file, const void* data, size_t size, off64_t offset),
       (file, data, size, offset))
SLOWED(readv, (int file, const struct iovec* parts, int count), (file, parts, count))
SLOWED(writev, (int file, const struct iovec* parts, int count), (file, parts, count))
SLOWED(preadv, (int file, const struct iovec* parts, int count, off_t offset),
       (file, parts, count, offset))
SLOWED(pwritev, (int file, const struct iovec* parts, int count, off_t offset),
       (file, parts, count, offset))
SLOWED(preadv64, (int file, const struct iovec* parts, int count, off64_t offset),
       (file, parts, count, offset))
SLOWED(pwritev64, (int file, const struct iovec* parts, int count, off64_t offset),
       (file, parts, count, offset))
SLOWED(preadv2, (int file, const struct iovec* parts, int count, off_t offset, int flags),
       (file, parts, count, offset, flags))
SLOWED(pwritev2, (int file, const struct iovec* parts, int count, off_t offset, int flags),
       (file, parts, count, offset, flags))
SLOWED(preadv64v2, (int file, const struct iovec* parts, int count, off64_t offset, int flags),
       (file, parts, count, offset, flags))
SLOWED(pwritev64v2, (int file, const struct iovec* parts, int count, off64_t offset, int flags),
       (file, parts, count, offset, flags))
