/* Sends what each pread and pwrite of a file moves over a connection first: loaded before the C
 * library, it makes files in memory those of a network file system's client, whose link is slow if
 * the host's link is.
 *
 * WEIR_CARRIED_TO holds ADDRESS:PORT of `anomalies.py serve`. A write sends 8 bytes, its size, and
 * its data, and waits for one byte; a read sends 8 bytes, minus its size, and receives as much.
 * Only files in memory (tmpfs) are carried: a program that describes its host reads hundreds of
 * files of /proc and /sys, which would cost a run ten times what its own files cost. If
 * WEIR_CARRIED_DELAY holds milliseconds, each of these calls takes so much longer.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/magic.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>

// A preloaded library has no object that its calls could share.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static int connected = -1;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

static int connect_once(void) {
  if (connected >= 0) return 0;
  const char* text = getenv("WEIR_CARRIED_TO");  // NOLINT(concurrency-mt-unsafe)
  const char* colon = text == NULL ? NULL : strchr(text, ':');
  char address[64] = {0};
  if (colon == NULL || (size_t)(colon - text) >= sizeof address) return -1;
  memcpy(address, text, (size_t)(colon - text));
  struct sockaddr_in to = {.sin_family = AF_INET};
  to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
  if (inet_pton(AF_INET, address, &to.sin_addr) != 1) return -1;
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  const int yes = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(made, (const struct sockaddr*)&to, sizeof to) != 0) return -1;
  connected = made;
  return 0;
}

static int exchange(const char* send_from, size_t sent, char* receive_to, size_t received) {
  while (sent > 0) {
    const ssize_t now = send(connected, send_from, sent, MSG_NOSIGNAL);
    if (now <= 0) return -1;
    send_from += now;
    sent -= (size_t)now;
  }
  while (received > 0) {
    const ssize_t now = recv(connected, receive_to, received, 0);
    if (now <= 0) return -1;
    receive_to += now;
    received -= (size_t)now;
  }
  return 0;
}

static void delay(void) {
  const char* text = getenv("WEIR_CARRIED_DELAY");  // NOLINT(concurrency-mt-unsafe)
  const long milliseconds = text == NULL ? 0 : strtol(text, NULL, 10);
  struct timespec left = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
  while (milliseconds > 0 && nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

/* Returns 0 if the bytes went over the connection, or if the file is not in memory. */
static int carry(int file, const char* data, char* room, size_t size) {
  struct statfs system;
  if (size == 0 || fstatfs(file, &system) != 0 || system.f_type != TMPFS_MAGIC) return 0;
  const int64_t header = data == NULL ? -(int64_t)size : (int64_t)size;
  char answer = 0;
  pthread_mutex_lock(&one_at_a_time);
  int failed = connect_once();
  failed = failed || exchange((const char*)&header, sizeof header, NULL, 0);
  failed =
      failed || (data == NULL ? exchange(NULL, 0, room, size) : exchange(data, size, &answer, 1));
  pthread_mutex_unlock(&one_at_a_time);
  delay();
  if (failed) errno = EIO;
  return failed ? -1 : 0;
}

/* ISO C has no conversion of the object pointer that dlsym returns to a function pointer. */
#define NEXT(name, type)                                            \
  static type next;                                                 \
  if (next == NULL) *(void**)(void*)&next = dlsym(RTLD_NEXT, name); \
  if (next == NULL) {                                               \
    errno = ENOSYS;                                                 \
    return -1;                                                      \
  }

typedef ssize_t (*Read)(int, void*, size_t, off_t);
typedef ssize_t (*Write)(int, const void*, size_t, off_t);

#define CARRIED(read_name, write_name)                                               \
  ssize_t read_name(int file, void* data, size_t size, off_t offset) {               \
    NEXT(#read_name, Read)                                                           \
    return carry(file, NULL, data, size) != 0 ? -1 : next(file, data, size, offset); \
  }                                                                                  \
  ssize_t write_name(int file, const void* data, size_t size, off_t offset) {        \
    NEXT(#write_name, Write)                                                         \
    return carry(file, data, NULL, size) != 0 ? -1 : next(file, data, size, offset); \
  }

CARRIED(pread, pwrite)
CARRIED(pread64, pwrite64)
