/* A file system that counts what a lock manager would do: one client of a shared folder.
 *
 * usage: extent_locks COUNTS CLIENT FOLDER MOUNT_POINT [TYPE]
 *
 * Each process is one client, mounted on MOUNT_POINT; all clients pass their calls on to FOLDER.
 * Parallel file systems let one client at a time write into an extent of a file: Lustre by extent
 * locks, GPFS by tokens. When another client writes there, the owner has to write back and let go.
 * Here nothing waits for that, but it is counted: COUNTS is a file that all clients map, with the
 * owner of each extent and how often extents changed their owner.
 *
 * COUNTS is (see struct counts) two numbers, the counters, and a table with open addressing. A slot
 * holds file, extent and owner in one number, so that clients need no lock among themselves: the
 * first writer of an extent claims an empty slot, later ones exchange the owner in it.
 *
 * Calls come as the program made them (direct_io), up to the kernel's largest FUSE request.
 *
 * With TYPE each client keeps pages, as client_pages.h says, so clients do not see each other's
 * writes; the table of mounts calls the file system fuse.TYPE.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "client_pages.h"

enum { SLOTS = 1 << 20, OWNER_BITS = 8, EXTENT_BITS = 32, FILE_BITS = 24, MOST_CLIENTS = 255 };

struct counts {
  uint64_t extent_bytes;
  uint64_t slots;
  _Atomic uint64_t writes;  /* calls */
  _Atomic uint64_t claims;  /* extents that had no owner */
  _Atomic uint64_t changes; /* extents that were another client's */
  _Atomic uint64_t slot[SLOTS];
};

static struct counts* counts;
static uint64_t client; /* from 1 on: a slot of 0 is empty */
static int folder = -1;
static int keeps_pages;

/* The path below the folder; "." for the folder itself. */
static const char* below(const char* path) { return path[1] == '\0' ? "." : path + 1; }

static int result(int code) { return code < 0 ? -errno : 0; }

/* Enters this client as the owner of one extent; 0, or a negative error. */
static int own(uint64_t file, uint64_t extent) {
  const uint64_t key = file << EXTENT_BITS | extent;
  const uint64_t mine = key << OWNER_BITS | client;
  uint64_t place = key * 0x9e3779b97f4a7c15U >> 44; /* the upper 20 bits */
  for (int looked = 0; looked < SLOTS; ++looked, place = (place + 1) % SLOTS) {
    uint64_t seen = atomic_load(&counts->slot[place]);
    if (seen == 0) {
      if (atomic_compare_exchange_strong(&counts->slot[place], &seen, mine)) {
        atomic_fetch_add(&counts->claims, 1);
        return 0;
      }
    }
    if (seen >> OWNER_BITS != key) continue;
    if (atomic_exchange(&counts->slot[place], mine) != mine) {
      atomic_fetch_add(&counts->changes, 1);
    }
    return 0;
  }
  return -ENOMEM;
}

static int own_range(int file, off_t offset, size_t bytes) {
  struct stat status;
  if (fstat(file, &status) != 0) return -errno;
  const uint64_t first = (uint64_t)offset / counts->extent_bytes;
  const uint64_t last = ((uint64_t)offset + bytes - 1) / counts->extent_bytes;
  if (status.st_ino >> FILE_BITS != 0 || last >> EXTENT_BITS != 0) return -EOVERFLOW;
  atomic_fetch_add(&counts->writes, 1);
  for (uint64_t extent = first; extent <= last; ++extent) {
    const int owned = own(status.st_ino, extent);
    if (owned != 0) return owned;
  }
  return 0;
}

static void* begin(struct fuse_conn_info* connection, struct fuse_config* config) {
  (void)connection;
  config->use_ino = 1;
  config->nullpath_ok = 0;
  config->hard_remove = 1;
  /* Clients see each other's files at once. */
  config->attr_timeout = config->entry_timeout = config->negative_timeout = 0;
  return NULL;
}

static int get_attributes(const char* path, struct stat* status, struct fuse_file_info* info) {
  const int got = info != NULL ? result(fstat((int)info->fh, status))
                               : result(fstatat(folder, below(path), status, AT_SYMLINK_NOFOLLOW));
  if (got == 0 && keeps_pages) status->st_size = pages_length(status->st_ino, status->st_size);
  return got;
}

static int read_folder(const char* path, void* buffer, fuse_fill_dir_t fill, off_t offset,
                       struct fuse_file_info* info, enum fuse_readdir_flags flags) {
  (void)offset, (void)info, (void)flags;
  const int file = openat(folder, below(path), O_RDONLY | O_DIRECTORY);
  if (file < 0) return -errno;
  DIR* const entries = fdopendir(file);
  if (entries == NULL) {
    close(file);
    return -ENOMEM;
  }
  for (struct dirent* entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    if (fill(buffer, entry->d_name, NULL, 0, 0) != 0) break;
  }
  closedir(entries);
  return 0;
}

static int open_file(const char* path, struct fuse_file_info* info, int flags, mode_t mode) {
  /* The kernel adds the offset of appended data. */
  flags &= ~(O_APPEND | O_DIRECT | O_NOFOLLOW);
  if (keeps_pages && (flags & O_ACCMODE) == O_WRONLY) flags = (flags & ~O_ACCMODE) | O_RDWR;
  const int file = openat(folder, below(path), flags, mode);
  if (file < 0) return -errno;
  const int opened = keeps_pages ? pages_open(file) : 0;
  if (opened != 0) {
    close(file);
    return opened;
  }
  info->fh = (uint64_t)file;
  info->direct_io = 1;
  return 0;
}

static int open_there(const char* path, struct fuse_file_info* info) {
  return open_file(path, info, info->flags, 0);
}

static int create(const char* path, mode_t mode, struct fuse_file_info* info) {
  return open_file(path, info, info->flags | O_CREAT, mode);
}

static int read_file(const char* path, char* data, size_t bytes, off_t offset,
                     struct fuse_file_info* info) {
  (void)path;
  if (keeps_pages) return (int)pages_read((int)info->fh, data, bytes, offset);
  const ssize_t got = pread((int)info->fh, data, bytes, offset);
  return got < 0 ? -errno : (int)got;
}

static int write_file(const char* path, const char* data, size_t bytes, off_t offset,
                      struct fuse_file_info* info) {
  (void)path;
  if (bytes == 0) return 0;
  const int owned = own_range((int)info->fh, offset, bytes);
  if (owned != 0) return owned;
  if (keeps_pages) return (int)pages_write((int)info->fh, data, bytes, offset);
  const ssize_t put = pwrite((int)info->fh, data, bytes, offset);
  return put < 0 ? -errno : (int)put;
}

static int set_length(int file, off_t bytes) {
  int done = keeps_pages ? pages_write_back(file) : 0;
  if (done == 0) done = result(ftruncate(file, bytes));
  if (done == 0 && keeps_pages) done = pages_forget(file);
  return done;
}

static int truncate_file(const char* path, off_t bytes, struct fuse_file_info* info) {
  if (info != NULL) return set_length((int)info->fh, bytes);
  const int file = openat(folder, below(path), O_WRONLY);
  if (file < 0) return -errno;
  const int done = set_length(file, bytes);
  close(file);
  return done;
}

static int allocate(const char* path, int mode, off_t offset, off_t bytes,
                    struct fuse_file_info* info) {
  (void)path;
  int done = keeps_pages ? pages_write_back((int)info->fh) : 0;
  if (done == 0) done = result(fallocate((int)info->fh, mode, offset, bytes));
  if (done == 0 && keeps_pages) done = pages_forget((int)info->fh);
  return done;
}

static int sync_file(const char* path, int data_only, struct fuse_file_info* info) {
  (void)path;
  const int written = keeps_pages ? pages_write_back((int)info->fh) : 0;
  if (written != 0) return written;
  return result(data_only != 0 ? fdatasync((int)info->fh) : fsync((int)info->fh));
}

/* In close(), which waits for it. */
static int flush_file(const char* path, struct fuse_file_info* info) {
  (void)path;
  return keeps_pages ? pages_write_back((int)info->fh) : 0;
}

static int release(const char* path, struct fuse_file_info* info) {
  (void)path;
  if (keeps_pages) pages_close((int)info->fh);
  return result(close((int)info->fh));
}

static int make_folder(const char* path, mode_t mode) {
  return result(mkdirat(folder, below(path), mode));
}
static int remove_file(const char* path) { return result(unlinkat(folder, below(path), 0)); }
static int remove_folder(const char* path) {
  return result(unlinkat(folder, below(path), AT_REMOVEDIR));
}
static int rename_file(const char* from, const char* to, unsigned flags) {
  return result(renameat2(folder, below(from), folder, below(to), flags));
}
static int change_mode(const char* path, mode_t mode, struct fuse_file_info* info) {
  (void)info;
  return result(fchmodat(folder, below(path), mode, 0));
}
static int change_owner(const char* path, uid_t user, gid_t group, struct fuse_file_info* info) {
  (void)info;
  return result(fchownat(folder, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}
static int set_times(const char* path, const struct timespec times[2],
                     struct fuse_file_info* info) {
  (void)info;
  return result(utimensat(folder, below(path), times, AT_SYMLINK_NOFOLLOW));
}
static int get_size(const char* path, struct statvfs* status) {
  (void)path;
  return result(fstatvfs(folder, status));
}

static const struct fuse_operations operations = {
    .init = begin,
    .getattr = get_attributes,
    .readdir = read_folder,
    .open = open_there,
    .create = create,
    .read = read_file,
    .write = write_file,
    .truncate = truncate_file,
    .fallocate = allocate,
    .fsync = sync_file,
    .flush = flush_file,
    .release = release,
    .mkdir = make_folder,
    .unlink = remove_file,
    .rmdir = remove_folder,
    .rename = rename_file,
    .chmod = change_mode,
    .chown = change_owner,
    .utimens = set_times,
    .statfs = get_size,
};

static int fail(const char* what) {
  fprintf(stderr, "extent_locks: %s: %s\n", what, strerror(errno));
  return 1;
}

int main(int words, char** word) {
  if (words != 5 && words != 6) {
    fprintf(stderr, "usage: extent_locks COUNTS CLIENT FOLDER MOUNT_POINT [TYPE]\n");
    return 2;
  }
  client = strtoul(word[2], NULL, 10);
  if (client < 1 || client > MOST_CLIENTS) {
    fprintf(stderr, "extent_locks: CLIENT is %s: give 1 to %d\n", word[2], MOST_CLIENTS);
    return 2;
  }
  const int file = open(word[1], O_RDWR | O_CLOEXEC);
  if (file < 0) return fail(word[1]);
  struct stat status;
  if (fstat(file, &status) != 0 || (size_t)status.st_size < sizeof(struct counts)) {
    fprintf(stderr, "extent_locks: %s is shorter than %zu bytes\n", word[1], sizeof(struct counts));
    return 1;
  }
  counts = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counts == MAP_FAILED) return fail(word[1]);
  if (counts->extent_bytes == 0 || counts->slots != SLOTS) {
    fprintf(stderr, "extent_locks: %s is not a table of %d slots\n", word[1], SLOTS);
    return 1;
  }
  folder = open(word[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return fail(word[3]);
  umask(0);
  keeps_pages = words == 6;
  char options[256];
  snprintf(options, sizeof options,
           "allow_other,default_permissions,fsname=weir-testbed-locks,subtype=%s",
           keeps_pages ? word[5] : "extent_locks");
  char* arguments[] = {word[0], word[4], "-o", options};
  return fuse_main((int)(sizeof arguments / sizeof *arguments), arguments, &operations, NULL);
}
