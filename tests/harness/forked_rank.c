// forked_rank SOCKET PRELOADED PYTHON WORD...: has "PYTHON WORD..." done by a process that is
// forked from one which has loaded the modules already (tests/rank_process.py), and ends as that
// process does.
//
// A launcher starts this program as a rank. The forked process gets this one's words, directory,
// environment and standard files, and is the rank to MPI and to everybody else. It gets the signals
// that the launcher sends here, and is killed when this program is. Without the other end of the
// socket, PYTHON itself is started, with these libraries in LD_PRELOAD.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { longest_message = 150000, no_answer = 70 };

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): signals come at any time
static volatile sig_atomic_t forked;

static void pass_on(int number) {
  if (forked > 0) kill(forked, number);
}

static void append(char* message, size_t* length, const char* word) {
  const size_t bytes = strlen(word) + 1;
  if (*length + bytes > longest_message) {
    fprintf(stderr, "forked_rank: words and environment have more than %d bytes\n",
            longest_message);
    _exit(no_answer);
  }
  memcpy(message + *length, word, bytes);
  *length += bytes;
}

static int connected_to(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -1;
  memcpy(address.sun_path, path, strlen(path));
  const int server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (server < 0) return -1;
  if (connect(server, (const struct sockaddr*)&address, sizeof address) == 0) return server;
  close(server);
  return -1;
}

// Sends the directory, the number of words, the words and the environment, each with a zero at its
// end, together with the standard files.
static int ask(int server, int count, char** words) {
  static char message[longest_message];
  size_t length = 0;
  char* const folder = getcwd(NULL, 0);
  char number[16];
  snprintf(number, sizeof number, "%d", count);
  append(message, &length, folder == NULL ? "/" : folder);
  append(message, &length, number);
  for (int i = 0; i < count; ++i) append(message, &length, words[i]);
  for (char** one = environ; *one != NULL; ++one) append(message, &length, *one);
  free(folder);
  const int files[] = {0, 1, 2};
  union {
    char bytes[CMSG_SPACE(sizeof files)];
    struct cmsghdr aligned;
  } control = {{0}};
  struct iovec parts = {.iov_base = message, .iov_len = length};
  struct msghdr all = {.msg_iov = &parts,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
  struct cmsghdr* const header = CMSG_FIRSTHDR(&all);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof files);
  memcpy(CMSG_DATA(header), files, sizeof files);
  return sendmsg(server, &all, MSG_NOSIGNAL) == (ssize_t)length;
}

static int heard(int server, int32_t* number) {
  return TEMP_FAILURE_RETRY(recv(server, number, sizeof *number, 0)) == (ssize_t)sizeof *number;
}

int main(int count, char** words) {
  if (count < 4) {
    fprintf(stderr, "forked_rank: give a socket, libraries and a command\n");
    return no_answer;
  }
  const int server = connected_to(words[1]);
  if (server < 0) {
    setenv("LD_PRELOAD", words[2], 1);  // NOLINT(concurrency-mt-unsafe): this is the only thread
    execv(words[3], words + 3);
    perror("forked_rank: the command cannot be started");
    return no_answer;
  }
  static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT};
  sigset_t held;
  sigset_t before;
  sigemptyset(&held);
  for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; ++i) sigaddset(&held, passed_on[i]);
  pthread_sigmask(SIG_BLOCK, &held, &before);
  int32_t process = 0;
  if (!ask(server, count - 3, words + 3) || !heard(server, &process)) return no_answer;
  forked = process;
  for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; ++i) {
    const struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigaction(passed_on[i], &action, NULL);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  int32_t status = 0;
  if (!heard(server, &status)) return no_answer;
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return no_answer;
}
