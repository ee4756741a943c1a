// A library to preload, which spoils one file operation of one rank, as failing storage would.
//
//   WEIR_FAULT="rank=2,call=pwrite,nth=3,error=EIO"      the call fails with this errno
//   WEIR_FAULT="rank=0,call=pread,nth=1,effect=flip"     the call has this effect instead
//
//   rank    of the job; without it every rank is affected
//   call    open | close | pwrite | pread | fsync | fdatasync | ftruncate | fallocate | flock;
//           pwritev counts as pwrite, preadv and preadv2 as pread; a close that fails has closed;
//           reads of one byte do not count: the library asks by them whether a page is in memory
//   nth     the how-manieth such call of the process on a test file; 1 when not given; 0: the first
//           one, the third and so on: each call that is made again when it failed fails once
//   error   EIO | ENOSPC | EDQUOT | EACCES | EINTR
//   effect  flip    one bit of the data is flipped, in the file (pwrite) or on the way back (pread)
//           swap    the first two blocks of 4096 bytes change places
//           zeros   the first block of 4096 bytes is zeros
//           drop    nothing is written, and the call says that all was
//           stale   what this process last wrote to the same place is written again
//           short   pread gives half of the bytes, and the next call says that the file ends there;
//                   pwrite takes half of the bytes, which is no failure
//           fill    the file system is filled up first, by a file `filler` beside the test file
//           kill    the process is killed
//           hang    the call never returns
//           late    the call is made 2 seconds later
//   tree    files whose path has this text in it are test files, too
//   ring    none: there is no io_uring, whose writes are not seen here; a stager then calls pwrite
//   try     any number: another one makes the same fault a new one
//
// WEIR_FAULT is looked at in every call: a test program may change it, and counting then begins
// anew. Test files are those whose name begins with "weir-". All others are left alone.
// faulty_io_hits() says how many calls were spoiled since it was changed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { block_bytes = 4096, most_writes = 4096, late_seconds = 2 };

struct fault {
  int armed;  // for this process
  char call[16];
  char effect[16];
  char tree[64];
  int has_no_ring;
  int error;
  long nth;
};

// Says what was last written to each place, for `stale`.
struct written {
  char path[PATH_MAX];
  off_t offset;
  size_t bytes;
  char* data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fault fault;
static char parsed[256];  // the text that `fault` was made of
static long calls_seen;
static int hits;
static int end_of_file_next;
static struct written writes[most_writes];
static size_t writes_known;

int faulty_io_hits(void);
int faulty_io_hits(void) { return hits; }

static void refuse(const char* what, const char* value) {
  fprintf(stderr, "faulty_io: WEIR_FAULT: %s: %s\n", what, value);
  abort();
}

static int error_named(const char* name) {
  static const struct {
    const char* name;
    int number;
  } known[] = {
      {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EACCES", EACCES}, {"EINTR", EINTR}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (strcmp(known[i].name, name) == 0) return known[i].number;
  refuse("unknown error", name);
  return 0;
}

static long rank_of_process(void) {
  static const char* const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) {
    const char* text = getenv(variables[i]);
    if (text != NULL) return strtol(text, NULL, 10);
  }
  return -1;  // not a rank: a launcher, a shell
}

static void parse(const char* text) {
  strcpy(parsed, text);
  fault = (struct fault){.nth = 1};
  calls_seen = 0;
  hits = 0;
  end_of_file_next = 0;
  const long rank = rank_of_process();
  if (rank < 0 || *text == '\0') return;
  long wanted_rank = rank;
  char copy[sizeof parsed];
  strcpy(copy, text);
  char* rest = NULL;
  for (char* word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
    char* value = strchr(word, '=');
    if (value == NULL) refuse("not NAME=VALUE", word);
    *value++ = '\0';
    if (strcmp(word, "rank") == 0)
      wanted_rank = strtol(value, NULL, 10);
    else if (strcmp(word, "nth") == 0)
      fault.nth = strtol(value, NULL, 10);
    else if (strcmp(word, "try") == 0)
      continue;
    else if (strcmp(word, "ring") == 0)
      fault.has_no_ring = strcmp(value, "none") == 0;
    else if (strcmp(word, "error") == 0)
      fault.error = error_named(value);
    else if (strcmp(word, "call") == 0 && strlen(value) < sizeof fault.call)
      strcpy(fault.call, value);
    else if (strcmp(word, "effect") == 0 && strlen(value) < sizeof fault.effect)
      strcpy(fault.effect, value);
    else if (strcmp(word, "tree") == 0 && strlen(value) < sizeof fault.tree)
      strcpy(fault.tree, value);
    else
      refuse("unknown name", word);
  }
  if (fault.call[0] == '\0') refuse("call is missing", text);
  if ((fault.error == 0) == (fault.effect[0] == '\0')) refuse("needs an error or an effect", text);
  fault.armed = wanted_rank == rank;
}

static void parse_when_changed(void) {
  const char* text = getenv("WEIR_FAULT");
  if (text == NULL) text = "";
  if (strlen(text) >= sizeof parsed) refuse("too long", text);
  pthread_mutex_lock(&lock);
  if (strcmp(text, parsed) != 0) parse(text);
  pthread_mutex_unlock(&lock);
}

static int is_test_file(const char* path) {
  const char* slash = strrchr(path, '/');
  if (strncmp(slash == NULL ? path : slash + 1, "weir-", 5) == 0) return 1;
  return fault.tree[0] != '\0' && strstr(path, fault.tree) != NULL;
}

static int path_of(int descriptor, char* path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return 1;
}

// Returns whether this is the call to spoil. Counts the calls on test files.
static int is_due(const char* call, const char* path) {
  parse_when_changed();
  if (!fault.armed || strcmp(call, fault.call) != 0 || !is_test_file(path)) return 0;
  pthread_mutex_lock(&lock);
  ++calls_seen;
  const int due = fault.nth == 0 ? calls_seen % 2 != 0 : calls_seen == fault.nth;
  hits += due;
  pthread_mutex_unlock(&lock);
  return due;
}

static int has_effect(const char* name) { return strcmp(fault.effect, name) == 0; }

// The effects that any call can have. Two of them do not return.
static void end_here(void) {
  if (has_effect("kill")) raise(SIGKILL);
  while (has_effect("hang")) pause();
  if (has_effect("late")) sleep(late_seconds);
}

// Declares `real`, the function that this library stands in front of. The assignment through void**
// is the one that POSIX gives for dlsym().
#define REAL(type, name, ...)       \
  static type (*real)(__VA_ARGS__); \
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, name)

int io_uring_queue_init(unsigned entries, void* ring, unsigned flags);
int io_uring_queue_init(unsigned entries, void* ring, unsigned flags) {
  REAL(int, "io_uring_queue_init", unsigned, void*, unsigned);
  if (real == NULL) {
    /* Python loads libweir and its libraries for itself only. */
    void* const library = dlopen("liburing.so.2", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) *(void**)&real = dlsym(library, "io_uring_queue_init");
  }
  parse_when_changed();
  return fault.has_no_ring || real == NULL ? -ENOSYS : real(entries, ring, flags);
}

static ssize_t write_really(int descriptor, const void* data, size_t bytes, off_t offset) {
  REAL(ssize_t, "pwrite64", int, const void*, size_t, off_t);
  return real(descriptor, data, bytes, offset);
}

static ssize_t read_really(int descriptor, void* data, size_t bytes, off_t offset) {
  REAL(ssize_t, "pread64", int, void*, size_t, off_t);
  return real(descriptor, data, bytes, offset);
}

static struct written* write_to(const char* path, off_t offset, size_t bytes) {
  for (size_t i = 0; i < writes_known; ++i)
    if (writes[i].offset == offset && writes[i].bytes == bytes && strcmp(writes[i].path, path) == 0)
      return &writes[i];
  return NULL;
}

static void remember(const char* path, const void* data, size_t bytes, off_t offset) {
  pthread_mutex_lock(&lock);
  struct written* place = write_to(path, offset, bytes);
  if (place == NULL && writes_known < most_writes) {
    place = &writes[writes_known++];
    strcpy(place->path, path);
    place->offset = offset;
    place->bytes = bytes;
    place->data = malloc(bytes);
  }
  if (place != NULL && place->data != NULL) memcpy(place->data, data, bytes);
  pthread_mutex_unlock(&lock);
}

// Leaves nothing of the file system for the write that follows.
static void fill_file_system(const char* test_file) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s", test_file);
  // The test files have a directory of their own, which the run removes: the filler lies above it.
  for (int level = 0; level < 2; ++level) *strrchr(path, '/') = '\0';
  strncat(path, "/filler", sizeof path - strlen(path) - 1);
  const int descriptor = open(path, O_WRONLY | O_CREAT, 0644);
  if (descriptor < 0) refuse("cannot create", path);
  static const char zeros[block_bytes];
  for (size_t piece = block_bytes; piece > 0; piece /= 2)
    while (write(descriptor, zeros, piece) > 0) continue;
  close(descriptor);
}

// Changes `data`, a copy of what is to be written or the buffer of what was read.
static void spoil(char* data, size_t bytes) {
  if (has_effect("flip")) {
    data[bytes / 2] ^= 0x10;
  } else if (has_effect("zeros")) {
    memset(data, 0, bytes < block_bytes ? bytes : block_bytes);
  } else if (has_effect("swap")) {
    if (bytes < 2 * block_bytes) refuse("swap needs two blocks", "the transfer is too small");
    char block[block_bytes];
    memcpy(block, data, block_bytes);
    memcpy(data, data + block_bytes, block_bytes);
    memcpy(data + block_bytes, block, block_bytes);
  } else {
    refuse("no such effect on this call", fault.effect);
  }
}

static ssize_t write_spoiled(int descriptor, const char* path, const void* data, size_t bytes,
                             off_t offset) {
  if (has_effect("drop")) return (ssize_t)bytes;
  if (has_effect("late")) return write_really(descriptor, data, bytes, offset);
  if (has_effect("short")) return write_really(descriptor, data, bytes / 2, offset);
  if (has_effect("fill")) {
    fill_file_system(path);
    return write_really(descriptor, data, bytes, offset);
  }
  char* copy = malloc(bytes);
  if (copy == NULL) abort();
  memcpy(copy, data, bytes);
  if (has_effect("stale")) {
    const struct written* earlier = write_to(path, offset, bytes);
    if (earlier == NULL) refuse("nothing was written there before", path);
    memcpy(copy, earlier->data, bytes);
  } else {
    spoil(copy, bytes);
  }
  const ssize_t written = write_really(descriptor, copy, bytes, offset);
  free(copy);
  return written;
}

static ssize_t read_spoiled(int descriptor, void* data, size_t bytes, off_t offset) {
  if (has_effect("short")) {
    end_of_file_next = 1;
    return read_really(descriptor, data, bytes / 2, offset);
  }
  const ssize_t got = read_really(descriptor, data, bytes, offset);
  if (got > 0 && !has_effect("late")) spoil(data, (size_t)got);
  return got;
}

ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off_t offset) {
  char path[PATH_MAX];
  if (!path_of(descriptor, path)) return write_really(descriptor, data, bytes, offset);
  const int due = is_due("pwrite", path);
  if (due && fault.error != 0) {
    errno = fault.error;
    return -1;
  }
  if (due) {
    end_here();
    return write_spoiled(descriptor, path, data, bytes, offset);
  }
  if (fault.armed && has_effect("stale") && is_test_file(path)) remember(path, data, bytes, offset);
  return write_really(descriptor, data, bytes, offset);
}

ssize_t pread64(int descriptor, void* data, size_t bytes, off_t offset) {
  char path[PATH_MAX];
  if (bytes == 1) return read_really(descriptor, data, bytes, offset);
  if (!path_of(descriptor, path)) return read_really(descriptor, data, bytes, offset);
  if (end_of_file_next && is_test_file(path)) {
    end_of_file_next = 0;
    return 0;
  }
  if (!is_due("pread", path)) return read_really(descriptor, data, bytes, offset);
  if (fault.error != 0) {
    errno = fault.error;
    return -1;
  }
  end_here();
  return read_spoiled(descriptor, data, bytes, offset);
}

// The vectored calls: a fault is one of a plain transfer of all bytes, through a buffer.
static size_t bytes_of(const struct iovec* parts, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

static char* buffer_of(size_t bytes) {
  char* buffer = malloc(bytes + 1);
  if (buffer == NULL) abort();
  return buffer;
}

ssize_t pwritev64(int descriptor, const struct iovec* parts, int count, off_t offset) {
  REAL(ssize_t, "pwritev64", int, const struct iovec*, int, off_t);
  char path[PATH_MAX];
  parse_when_changed();
  if (!fault.armed || !path_of(descriptor, path) || !is_test_file(path))
    return real(descriptor, parts, count, offset);
  const size_t bytes = bytes_of(parts, count);
  char* const data = buffer_of(bytes);
  char* end = data;
  for (int i = 0; i < count; ++i) {
    memcpy(end, parts[i].iov_base, parts[i].iov_len);
    end += parts[i].iov_len;
  }
  const ssize_t written = pwrite64(descriptor, data, bytes, offset);
  free(data);
  return written;
}

ssize_t preadv64(int descriptor, const struct iovec* parts, int count, off_t offset) {
  REAL(ssize_t, "preadv64", int, const struct iovec*, int, off_t);
  char path[PATH_MAX];
  parse_when_changed();
  if (!fault.armed || !path_of(descriptor, path) || !is_test_file(path))
    return real(descriptor, parts, count, offset);
  char* const data = buffer_of(bytes_of(parts, count));
  const ssize_t got = pread64(descriptor, data, bytes_of(parts, count), offset);
  const char* next = data;
  for (ssize_t left = got; left > 0; ++parts) {
    const size_t now = parts->iov_len < (size_t)left ? parts->iov_len : (size_t)left;
    memcpy(parts->iov_base, next, now);
    next += now;
    left -= (ssize_t)now;
  }
  free(data);
  return got;
}

ssize_t preadv64v2(int descriptor, const struct iovec* parts, int count, off_t offset, int flags) {
  REAL(ssize_t, "preadv64v2", int, const struct iovec*, int, off_t, int);
  if (bytes_of(parts, count) == 1) return real(descriptor, parts, count, offset, flags);
  char path[PATH_MAX];
  parse_when_changed();
  if (!fault.armed || !path_of(descriptor, path) || !is_test_file(path))
    return real(descriptor, parts, count, offset, flags);
  return preadv64(descriptor, parts, count, offset);
}

// Names of a 64-bit system's 32-bit interface: off_t has 64 bits here.
_Static_assert(sizeof(off_t) == 8, "off_t must have 64 bits");
ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  return pwrite64(descriptor, data, bytes, offset);
}
ssize_t pread(int descriptor, void* data, size_t bytes, off_t offset) {
  return pread64(descriptor, data, bytes, offset);
}
ssize_t pwritev(int descriptor, const struct iovec* parts, int count, off_t offset) {
  return pwritev64(descriptor, parts, count, offset);
}
ssize_t preadv(int descriptor, const struct iovec* parts, int count, off_t offset) {
  return preadv64(descriptor, parts, count, offset);
}
ssize_t preadv2(int descriptor, const struct iovec* parts, int count, off_t offset, int flags) {
  return preadv64v2(descriptor, parts, count, offset, flags);
}

// Sets errno and returns 1 when the call is to fail.
static int fails(const char* call, int descriptor) {
  char path[PATH_MAX];
  if (!path_of(descriptor, path) || !is_due(call, path)) return 0;
  end_here();
  if (has_effect("late")) return 0;
  if (fault.error == 0) refuse("no such effect on this call", fault.effect);
  errno = fault.error;
  return 1;
}

int fsync(int descriptor) {
  REAL(int, "fsync", int);
  return fails("fsync", descriptor) ? -1 : real(descriptor);
}

int fdatasync(int descriptor) {
  REAL(int, "fdatasync", int);
  return fails("fdatasync", descriptor) ? -1 : real(descriptor);
}

int ftruncate(int descriptor, off_t bytes) {
  REAL(int, "ftruncate", int, off_t);
  return fails("ftruncate", descriptor) ? -1 : real(descriptor, bytes);
}

int ftruncate64(int descriptor, off_t bytes) { return ftruncate(descriptor, bytes); }

int close(int descriptor) {
  REAL(int, "close", int);
  const int failed = fault.armed && strcmp(fault.call, "close") == 0 && fails("close", descriptor);
  const int reason = errno;
  const int answer = real(descriptor);
  if (!failed) return answer;
  errno = reason;
  return -1;
}

int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
  REAL(int, "fallocate", int, int, off_t, off_t);
  return fails("fallocate", descriptor) ? -1 : real(descriptor, mode, offset, bytes);
}

int flock(int descriptor, int operation) {
  REAL(int, "flock", int, int);
  return fails("flock", descriptor) ? -1 : real(descriptor, operation);
}

int fallocate64(int descriptor, int mode, off_t offset, off_t bytes) {
  return fallocate(descriptor, mode, offset, bytes);
}

static int open_or_fail(const char* path, int flags, mode_t mode) {
  REAL(int, "open64", const char*, int, ...);
  if ((flags & O_DIRECTORY) == 0 && is_due("open", path)) {
    end_here();
    if (fault.error == 0) refuse("no such effect on this call", fault.effect);
    errno = fault.error;
    return -1;
  }
  return real(path, flags, mode);
}

#define OPEN(name)                                \
  int name(const char* path, int flags, ...) {    \
    mode_t mode = 0;                              \
    if ((flags & (O_CREAT | __O_TMPFILE)) != 0) { \
      va_list arguments;                          \
      va_start(arguments, flags);                 \
      mode = va_arg(arguments, mode_t);           \
      va_end(arguments);                          \
    }                                             \
    return open_or_fail(path, flags, mode);       \
  }
OPEN(open)
OPEN(open64)
