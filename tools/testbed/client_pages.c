#define _GNU_SOURCE
#include "client_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_FILES = 4096 };

struct page {
  int changed;
  char data[PAGE];
};

struct kept {
  ino_t number;
  int opens; /* 0: the place is free */
  int file;  /* of its own, for reading and writing where the client may write */
  off_t length;
  size_t places;
  struct page** page; /* null: not kept */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kept files[MOST_FILES];

static struct kept* find(ino_t number) {
  for (int i = 0; i < MOST_FILES; ++i) {
    if (files[i].opens > 0 && files[i].number == number) return &files[i];
  }
  return NULL;
}

static struct kept* kept_of(int file) {
  struct stat status;
  return fstat(file, &status) == 0 ? find(status.st_ino) : NULL;
}

static int write_back(struct kept* kept) {
  for (size_t at = 0; at < kept->places; ++at) {
    struct page* const page = kept->page[at];
    const off_t offset = (off_t)at * PAGE;
    if (page == NULL || page->changed == 0 || offset >= kept->length) continue;
    const off_t left = kept->length - offset;
    const size_t bytes = left < PAGE ? (size_t)left : PAGE;
    const ssize_t put = pwrite(kept->file, page->data, bytes, offset);
    if (put != (ssize_t)bytes) return put < 0 ? -errno : -EIO;
    page->changed = 0;
  }
  return 0;
}

static int forget(struct kept* kept) {
  struct stat status;
  for (size_t at = 0; at < kept->places; ++at) free(kept->page[at]);
  free(kept->page);
  kept->page = NULL;
  kept->places = 0;
  if (fstat(kept->file, &status) != 0) return -errno;
  kept->length = status.st_size;
  return 0;
}

/* The page, fetched where it is not kept; null: there is no memory, or it cannot be read. */
static struct page* page_at(struct kept* kept, size_t at) {
  if (at >= kept->places) {
    const size_t places = at + 1 + kept->places;
    struct page** const more = realloc(kept->page, places * sizeof *more);
    if (more == NULL) return NULL;
    memset(more + kept->places, 0, (places - kept->places) * sizeof *more);
    kept->page = more;
    kept->places = places;
  }
  if (kept->page[at] != NULL) return kept->page[at];
  struct page* const page = calloc(1, sizeof *page);
  if (page == NULL || pread(kept->file, page->data, PAGE, (off_t)at * PAGE) < 0) {
    free(page);
    return NULL;
  }
  kept->page[at] = page;
  return page;
}

static int open_kept(int file) {
  struct stat status;
  if (fstat(file, &status) != 0) return -errno;
  struct kept* kept = find(status.st_ino);
  if (kept != NULL) {
    ++kept->opens;
    const int written = write_back(kept);
    return written != 0 ? written : forget(kept);
  }
  kept = NULL;
  for (int i = 0; i < MOST_FILES && kept == NULL; ++i) {
    if (files[i].opens == 0) kept = &files[i];
  }
  if (kept == NULL) return -ENFILE;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  const int own = open(path, O_RDWR | O_CLOEXEC);
  if (own < 0) return -errno;
  *kept = (struct kept){.number = status.st_ino, .opens = 1, .file = own, .length = status.st_size};
  return 0;
}

int pages_open(int file) {
  pthread_mutex_lock(&mutex);
  const int opened = open_kept(file);
  pthread_mutex_unlock(&mutex);
  return opened;
}

int pages_close(int file) {
  pthread_mutex_lock(&mutex);
  int closed = 0;
  struct kept* const kept = kept_of(file);
  if (kept != NULL && --kept->opens == 0) {
    closed = write_back(kept);
    forget(kept);
    close(kept->file);
  }
  pthread_mutex_unlock(&mutex);
  return closed;
}

ssize_t pages_read(int file, char* data, size_t bytes, off_t offset) {
  pthread_mutex_lock(&mutex);
  struct kept* const kept = kept_of(file);
  ssize_t got = kept == NULL ? -EBADF : 0;
  while (kept != NULL && bytes > 0 && offset < kept->length) {
    struct page* const page = page_at(kept, (size_t)(offset / PAGE));
    if (page == NULL) {
      got = -EIO;
      break;
    }
    const size_t from = (size_t)(offset % PAGE);
    size_t here = PAGE - from < bytes ? PAGE - from : bytes;
    if ((off_t)here > kept->length - offset) here = (size_t)(kept->length - offset);
    memcpy(data, page->data + from, here);
    data += here, bytes -= here, offset += (off_t)here, got += (ssize_t)here;
  }
  pthread_mutex_unlock(&mutex);
  return got;
}

ssize_t pages_write(int file, const char* data, size_t bytes, off_t offset) {
  pthread_mutex_lock(&mutex);
  struct kept* const kept = kept_of(file);
  ssize_t put = kept == NULL ? -EBADF : 0;
  while (kept != NULL && bytes > 0) {
    struct page* const page = page_at(kept, (size_t)(offset / PAGE));
    if (page == NULL) {
      put = -EIO;
      break;
    }
    const size_t from = (size_t)(offset % PAGE);
    const size_t here = PAGE - from < bytes ? PAGE - from : bytes;
    memcpy(page->data + from, data, here);
    page->changed = 1;
    data += here, bytes -= here, offset += (off_t)here, put += (ssize_t)here;
    if (offset > kept->length) kept->length = offset;
  }
  pthread_mutex_unlock(&mutex);
  return put;
}

int pages_write_back(int file) {
  pthread_mutex_lock(&mutex);
  struct kept* const kept = kept_of(file);
  const int written = kept == NULL ? 0 : write_back(kept);
  pthread_mutex_unlock(&mutex);
  return written;
}

int pages_forget(int file) {
  pthread_mutex_lock(&mutex);
  struct kept* const kept = kept_of(file);
  const int forgotten = kept == NULL ? 0 : forget(kept);
  pthread_mutex_unlock(&mutex);
  return forgotten;
}

off_t pages_length(ino_t number, off_t bytes) {
  pthread_mutex_lock(&mutex);
  const struct kept* const kept = find(number);
  if (kept != NULL) bytes = kept->length;
  pthread_mutex_unlock(&mutex);
  return bytes;
}
