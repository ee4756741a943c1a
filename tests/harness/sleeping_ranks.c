// A library to preload into ranks: a rank that waits in MPI sleeps now and then.
//
// MPI looks for messages over and over while it waits. A rank that has found none many times in a
// row sleeps between two looks, up to eight times as long as at first, until it finds one.
//
// MPICH, with UCX, has no setting for that: a barrier of 16 ranks on 2 cores takes 0.1 s. Open MPI
// yields the processor after each empty look. To yield is not enough: a launcher may make each rank
// a session, and where the kernel groups processes by sessions (sched_autogroup), sched_yield
// yields to the caller's own session only. To count calls of sched_yield would not do: where many
// short messages follow each other there are many such calls, too, and each message would wait for
// a sleep.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  most_empty_looks =
      50,  // UCX needs 5 us for them: an answer from a rank on another core comes earlier
  looks_between_sleeps = 4,
  shortest_nanoseconds = 20000,
  longest_nanoseconds = 160000
};

static void after_look(bool is_empty) {
  static _Thread_local int empty_looks;
  static _Thread_local long nanoseconds = shortest_nanoseconds;
  if (!is_empty) {
    empty_looks = 0;
    nanoseconds = shortest_nanoseconds;
  } else if (++empty_looks == most_empty_looks) {
    const struct timespec pause = {.tv_nsec = nanoseconds};
    nanosleep(&pause, NULL);
    empty_looks -= looks_between_sleeps;
    if (nanoseconds < longest_nanoseconds) nanoseconds *= 2;
  }
}

// A function of the first of these libraries that is loaded. RTLD_NEXT would not find it where only
// a module of Python has loaded MPI.
static void* find(const char* name, const char* const libraries[]) {
  void* found = NULL;
  for (size_t i = 0; found == NULL && libraries[i] != NULL; ++i) {
    void* const library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) found = dlsym(library, name);
  }
  if (found == NULL) {
    fprintf(stderr, "sleeping_ranks.so: %s is in no loaded library with a name like %s\n", name,
            libraries[0]);
    abort();
  }
  return found;
}

// ---- MPICH ------------------------------------------------------------------------------------

typedef unsigned (*ucx_progress)(void* worker);

// UCX handles messages that have arrived, and returns how many.
unsigned ucp_worker_progress(void* worker) {
  static _Atomic(ucx_progress) known;
  ucx_progress real = known;
  if (real == NULL) {
    static const char* const libraries[] = {"libucp.so.0", NULL};
    *(void**)&real = find(__func__, libraries);
    known = real;
  }
  const unsigned events = real(worker);
  after_look(events == 0);
  return events;
}

// ---- Open MPI ---------------------------------------------------------------------------------

typedef void (*open_mpi_progress)(void);

// Returns whether this thread has yielded since Open MPI began to look.
static bool* has_yielded(void) {
  static _Thread_local bool it_has;
  return &it_has;
}

// Open MPI handles messages that have arrived, and yields if there were none.
void opal_progress(void) {
  static _Atomic(open_mpi_progress) known;
  open_mpi_progress real = known;
  if (real == NULL) {
    static const char* const libraries[] = {"libopen-pal.so.40", "libopen-pal.so.80", NULL};
    *(void**)&real = find(__func__, libraries);
    known = real;
  }
  *has_yielded() = false;
  real();
  after_look(*has_yielded());
}

int sched_yield(void) {
  *has_yielded() = true;
  return (int)syscall(SYS_sched_yield);
}
