// A library to preload, which records what a program asks of the file system below one folder, so
// that lost_writes.py can make the states that a crash of the system might leave.
//
//   WEIR_RECORDED   the folder, an absolute path without links
//   WEIR_RECORD     the file that gets a line for each call, outside the folder; written bytes go
//                   to WEIR_RECORD.PID
//
// The fields of a line have a tab between them, the first is "io". INO is the number of the inode:
//
//   make INO PATH               mkdir INO PATH             rename FROM TO
//   unlink PATH                 link FROM TO               truncate INO BYTES
//   write INO OFFSET BYTES PID PLACE                       syncing NUMBER INO
//   synced NUMBER
//
// A call is recorded when it has succeeded and before it returns, so whatever a process does
// because of it, also in another process, follows in the record. What makes durable has a line
// before it, which says what is made durable, and one behind it; INO is then 0 for the whole file
// system. Writes through mappings and by io_uring are not seen: whoever replays compares the end
// with the folder.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Declares `real`, the function that this library stands in front of. The assignment through void**
// is the one that POSIX gives for dlsym().
#define REAL(type, name, ...)       \
  static type (*real)(__VA_ARGS__); \
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, name)

static void give_up(const char* what) {
  fprintf(stderr, "recorded_io: %s: %s\n", what, strerror(errno));
  abort();
}

// ---- The record -------------------------------------------------------------------------------

// By system calls of its own: those of libc are recorded.
static void append(const char* path, const char* text, size_t bytes) {
  const int file =
      (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || syscall(SYS_write, file, text, bytes) != (long)bytes) give_up(path);
  syscall(SYS_close, file);
}

__attribute__((format(printf, 1, 2))) static void record(const char* format, ...) {
  const int before = errno;
  const char* path = getenv("WEIR_RECORD");
  char line[3 * PATH_MAX];
  va_list values;
  va_start(values, format);
  const int bytes = vsnprintf(line, sizeof line, format, values);
  va_end(values);
  if (path == NULL || bytes < 0 || (size_t)bytes >= sizeof line) give_up("a line of the record");
  append(path, line, (size_t)bytes);
  errno = before;
}

static int is_below(const char* path) {
  const char* folder = getenv("WEIR_RECORDED");
  if (folder == NULL) return 0;
  const size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static int path_of(int descriptor, char* path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return 1;
}

// The absolute path of a name. Whether it is below the folder.
static int resolve(int folder, const char* name, char* path) {
  if (name[0] == '/') {
    snprintf(path, PATH_MAX, "%s", name);
  } else {
    char base[PATH_MAX];
    const int known =
        folder == AT_FDCWD ? getcwd(base, sizeof base) != NULL : path_of(folder, base);
    if (!known) return 0;
    if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) return 0;
  }
  return is_below(path);
}

static unsigned long inode_of(int descriptor) {
  struct stat about;
  return fstat(descriptor, &about) == 0 ? (unsigned long)about.st_ino : 0;
}

// The inode of an open file below the folder; 0: it is another one.
static unsigned long recorded(int descriptor) {
  const int before = errno;
  char path[PATH_MAX];
  struct stat about;
  unsigned long inode = 0;
  if (getenv("WEIR_RECORDED") != NULL && path_of(descriptor, path) && is_below(path) &&
      fstat(descriptor, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))) {
    inode = (unsigned long)about.st_ino;
  }
  errno = before;
  return inode;
}

// ---- Names ------------------------------------------------------------------------------------

// Waits until no other process is creating a file. The lock ends when the file is closed.
static int lock_creation(void) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s.lock", getenv("WEIR_RECORD"));
  const int lock = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0 || syscall(SYS_flock, lock, LOCK_EX) != 0) give_up(path);
  return lock;
}

// A process that opens a file which another one creates may change it at once, so it opens it when
// the creation has been recorded.
static int open_recorded(int folder, const char* name, int flags, mode_t mode) {
  char path[PATH_MAX];
  REAL(int, "openat64", int, const char*, int, ...);
  const int changes = (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_ACCMODE) != O_RDONLY;
  const int below = changes && resolve(folder, name, path);
  if (!below) return real(folder, name, flags, mode);
  const int lock = lock_creation();
  struct stat about;
  const int is_new = fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0;
  const int file = real(folder, name, flags, mode);
  if (file >= 0 && is_new && (flags & O_CREAT) != 0) {
    record("io\tmake\t%lu\t%s\n", inode_of(file), path);
  } else if (file >= 0 && (flags & O_TRUNC) != 0) {
    record("io\ttruncate\t%lu\t0\n", inode_of(file));
  }
  const int outcome = errno;
  syscall(SYS_close, lock);
  errno = outcome;
  return file;
}

#define MODE_OF(flags)                            \
  mode_t mode = 0;                                \
  if (((flags) & (O_CREAT | __O_TMPFILE)) != 0) { \
    va_list values;                               \
    va_start(values, flags);                      \
    mode = va_arg(values, mode_t);                \
    va_end(values);                               \
  }

int open(const char* name, int flags, ...) {
  MODE_OF(flags)
  return open_recorded(AT_FDCWD, name, flags, mode);
}

int open64(const char* name, int flags, ...) {
  MODE_OF(flags)
  return open_recorded(AT_FDCWD, name, flags, mode);
}

int openat(int folder, const char* name, int flags, ...) {
  MODE_OF(flags)
  return open_recorded(folder, name, flags, mode);
}

int openat64(int folder, const char* name, int flags, ...) {
  MODE_OF(flags)
  return open_recorded(folder, name, flags, mode);
}

static int mkdir_recorded(int folder, const char* name, mode_t mode) {
  char path[PATH_MAX];
  struct stat about;
  REAL(int, "mkdirat", int, const char*, mode_t);
  const int status = real(folder, name, mode);
  if (status == 0 && resolve(folder, name, path) && stat(path, &about) == 0) {
    record("io\tmkdir\t%lu\t%s\n", (unsigned long)about.st_ino, path);
  }
  return status;
}

int mkdir(const char* name, mode_t mode) { return mkdir_recorded(AT_FDCWD, name, mode); }

int mkdirat(int folder, const char* name, mode_t mode) {
  return mkdir_recorded(folder, name, mode);
}

static int rename_recorded(int from_folder, const char* from, int to_folder, const char* to,
                           unsigned flags) {
  char from_path[PATH_MAX];
  char to_path[PATH_MAX];
  REAL(int, "renameat2", int, const char*, int, const char*, unsigned);
  const int status = real(from_folder, from, to_folder, to, flags);
  const int from_below = resolve(from_folder, from, from_path);
  const int to_below = resolve(to_folder, to, to_path);
  if (status == 0 && from_below && to_below) record("io\trename\t%s\t%s\n", from_path, to_path);
  return status;
}

int rename(const char* from, const char* to) {
  return rename_recorded(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return rename_recorded(from_folder, from, to_folder, to, 0);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return rename_recorded(from_folder, from, to_folder, to, flags);
}

static int unlink_recorded(int folder, const char* name, int flags) {
  char path[PATH_MAX];
  REAL(int, "unlinkat", int, const char*, int);
  const int status = real(folder, name, flags);
  if (status == 0 && resolve(folder, name, path)) record("io\tunlink\t%s\n", path);
  return status;
}

int unlink(const char* name) { return unlink_recorded(AT_FDCWD, name, 0); }

int unlinkat(int folder, const char* name, int flags) {
  return unlink_recorded(folder, name, flags);
}

int rmdir(const char* name) { return unlink_recorded(AT_FDCWD, name, AT_REMOVEDIR); }

int remove(const char* name) {
  struct stat about;
  const int folder = lstat(name, &about) == 0 && S_ISDIR(about.st_mode);
  return unlink_recorded(AT_FDCWD, name, folder ? AT_REMOVEDIR : 0);
}

static int link_recorded(int from_folder, const char* from, int to_folder, const char* to,
                         int flags) {
  char from_path[PATH_MAX];
  char to_path[PATH_MAX];
  REAL(int, "linkat", int, const char*, int, const char*, int);
  const int status = real(from_folder, from, to_folder, to, flags);
  if (status == 0 && resolve(from_folder, from, from_path) && resolve(to_folder, to, to_path)) {
    record("io\tlink\t%s\t%s\n", from_path, to_path);
  }
  return status;
}

int link(const char* from, const char* to) {
  return link_recorded(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  return link_recorded(from_folder, from, to_folder, to, flags);
}

// ---- Bytes ------------------------------------------------------------------------------------

// The bytes are kept before the call, as the program may change them behind it.
static void record_write(unsigned long inode, const struct iovec* parts, int count, off_t offset,
                         ssize_t written) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s.%ld", getenv("WEIR_RECORD"), (long)getpid());
  pthread_mutex_lock(&lock);
  struct stat about;
  const long place = stat(path, &about) == 0 ? (long)about.st_size : 0;
  ssize_t left = written;
  for (int i = 0; i < count && left > 0; ++i) {
    const size_t bytes = (size_t)left < parts[i].iov_len ? (size_t)left : parts[i].iov_len;
    append(path, parts[i].iov_base, bytes);
    left -= (ssize_t)bytes;
  }
  record("io\twrite\t%lu\t%ld\t%ld\t%ld\t%ld\n", inode, (long)offset, (long)written, (long)getpid(),
         place);
  pthread_mutex_unlock(&lock);
}

static ssize_t pwritev_recorded(int file, const struct iovec* parts, int count, off_t offset,
                                int flags) {
  REAL(ssize_t, "pwritev64v2", int, const struct iovec*, int, off_t, int);
  const unsigned long inode = recorded(file);
  const ssize_t written = real(file, parts, count, offset, flags);
  if (inode != 0 && written > 0) {
    const off_t at = offset >= 0 ? offset : lseek(file, 0, SEEK_CUR) - written;
    record_write(inode, parts, count, at, written);
  }
  return written;
}

ssize_t pwritev(int file, const struct iovec* parts, int count, off_t offset) {
  return pwritev_recorded(file, parts, count, offset, 0);
}

ssize_t pwritev64(int file, const struct iovec* parts, int count, off_t offset) {
  return pwritev_recorded(file, parts, count, offset, 0);
}

ssize_t pwritev2(int file, const struct iovec* parts, int count, off_t offset, int flags) {
  return pwritev_recorded(file, parts, count, offset, flags);
}

ssize_t pwritev64v2(int file, const struct iovec* parts, int count, off_t offset, int flags) {
  return pwritev_recorded(file, parts, count, offset, flags);
}

static ssize_t pwrite_recorded(int file, const void* data, size_t bytes, off_t offset) {
  REAL(ssize_t, "pwrite64", int, const void*, size_t, off_t);
  const unsigned long inode = recorded(file);
  const ssize_t written = real(file, data, bytes, offset);
  const struct iovec part = {(void*)data, bytes};
  if (inode != 0 && written > 0) record_write(inode, &part, 1, offset, written);
  return written;
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  return pwrite_recorded(file, data, bytes, offset);
}

ssize_t pwrite64(int file, const void* data, size_t bytes, off_t offset) {
  return pwrite_recorded(file, data, bytes, offset);
}

ssize_t write(int file, const void* data, size_t bytes) {
  REAL(ssize_t, "write", int, const void*, size_t);
  const unsigned long inode = recorded(file);
  const ssize_t written = real(file, data, bytes);
  const struct iovec part = {(void*)data, bytes};
  if (inode != 0 && written > 0) {
    record_write(inode, &part, 1, lseek(file, 0, SEEK_CUR) - written, written);
  }
  return written;
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  REAL(ssize_t, "writev", int, const struct iovec*, int);
  const unsigned long inode = recorded(file);
  const ssize_t written = real(file, parts, count);
  if (inode != 0 && written > 0) {
    record_write(inode, parts, count, lseek(file, 0, SEEK_CUR) - written, written);
  }
  return written;
}

static int record_length(int file, int status) {
  struct stat about;
  if (status == 0 && recorded(file) != 0 && fstat(file, &about) == 0) {
    record("io\ttruncate\t%lu\t%ld\n", (unsigned long)about.st_ino, (long)about.st_size);
  }
  return status;
}

int ftruncate(int file, off_t bytes) {
  REAL(int, "ftruncate64", int, off_t);
  return record_length(file, real(file, bytes));
}

int ftruncate64(int file, off_t bytes) {
  REAL(int, "ftruncate64", int, off_t);
  return record_length(file, real(file, bytes));
}

static int fallocate_recorded(int file, int mode, off_t offset, off_t bytes) {
  REAL(int, "fallocate64", int, int, off_t, off_t);
  if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0 && recorded(file) != 0) give_up("a mode of fallocate");
  return record_length(file, real(file, mode, offset, bytes));
}

int fallocate(int file, int mode, off_t offset, off_t bytes) {
  return fallocate_recorded(file, mode, offset, bytes);
}

int fallocate64(int file, int mode, off_t offset, off_t bytes) {
  return fallocate_recorded(file, mode, offset, bytes);
}

// ---- Durability -------------------------------------------------------------------------------

static int sync_recorded(const char* call, int file, int whole) {
  static atomic_long number;
  int (*real)(int) = NULL;
  *(void**)&real = dlsym(RTLD_NEXT, call);
  const unsigned long inode = recorded(file);
  if (inode == 0) return real(file);
  const long mine = atomic_fetch_add(&number, 1);
  record("io\tsyncing\t%ld.%ld\t%lu\n", (long)getpid(), mine, whole ? 0 : inode);
  const int status = real(file);
  if (status == 0) record("io\tsynced\t%ld.%ld\n", (long)getpid(), mine);
  return status;
}

int fsync(int file) { return sync_recorded("fsync", file, 0); }

int fdatasync(int file) { return sync_recorded("fdatasync", file, 0); }

int syncfs(int file) { return sync_recorded("syncfs", file, 1); }
