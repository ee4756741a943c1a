// A bare loop of the calls that weir-bench metadata makes for create, stat and unlink. It prints
// the operations per second of each on its own line, over the time of the slowest process.
//
//   plain_metadata FOLDER PROCESSES ITEMS
//
// Every process has ITEMS files of its own in the shared FOLDER, and writes each name with
// snprintf, as mdtest does. Only the beginning and the end of each loop are recorded.
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { actions = 3, most_processes = 64, path_bytes = 4096 };
static const char* const names[actions] = {"create", "stat", "unlink"};

struct Shared {
  pthread_barrier_t barrier;
  double seconds[most_processes][actions];
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(int holds, const char* what) {
  if (holds) return;
  perror(what);
  _exit(1);
}

static void work(struct Shared* all, const char* folder, int process, long items) {
  char path[path_bytes];
  struct stat found;
  for (int action = 0; action < actions; ++action) {
    pthread_barrier_wait(&all->barrier);
    const double start = now();
    for (long i = 0; i < items; ++i) {
      snprintf(path, sizeof path, "%s/file.%d.%ld", folder, process, i);
      if (action == 0) {
        const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        must(file >= 0 && close(file) == 0, path);
      } else if (action == 1) {
        must(stat(path, &found) == 0, path);
      } else {
        must(unlink(path) == 0, path);
      }
    }
    all->seconds[process][action] = now() - start;
    pthread_barrier_wait(&all->barrier);
  }
}

// Returns the number in `text`, or 0 if it is no number from 1 to `most`.
static long number(const char* text, long most) {
  char* end = NULL;
  const long value = strtol(text, &end, 10);
  return *end == '\0' && value >= 1 && value <= most ? value : 0;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  const int processes = (int)number(words[2], most_processes);
  const long items = number(words[3], LONG_MAX - 1);
  if (processes < 1 || items < 1) return 2;
  struct Shared* all =
      mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  must(all != MAP_FAILED, "mmap");
  pthread_barrierattr_t between_processes;
  pthread_barrierattr_init(&between_processes);
  pthread_barrierattr_setpshared(&between_processes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&all->barrier, &between_processes, (unsigned)processes);
  for (int process = 0; process < processes; ++process) {
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
      work(all, words[1], process, items);
      _exit(0);
    }
  }
  int worst = 0;
  for (int process = 0; process < processes; ++process) {
    int status = 0;
    wait(&status);
    if (status != 0) worst = 1;
  }
  if (worst != 0) return 1;
  for (int action = 0; action < actions; ++action) {
    double slowest = 0;
    for (int process = 0; process < processes; ++process) {
      if (all->seconds[process][action] > slowest) slowest = all->seconds[process][action];
    }
    printf("%s %.1f\n", names[action], (double)processes * (double)items / slowest);
  }
  return 0;
}
