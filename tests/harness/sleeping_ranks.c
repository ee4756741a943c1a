// A library to preload into ranks of MPICH: a rank that waits in MPI sleeps now and then.
//
// MPICH asks UCX for messages over and over while it waits, and has no setting for that: a barrier
// of 16 ranks on 2 cores takes 0.1 s. To yield the processor is not enough, because MPICH's
// launcher makes each rank a session, and where the kernel groups processes by sessions
// (sched_autogroup), sched_yield yields to the caller's own session only.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  most_empty_answers = 50,  // they take 5 us: an answer from a rank on another core comes earlier
  sleep_nanoseconds = 20000
};

typedef unsigned (*progress)(void* worker);

// The function of UCX. RTLD_NEXT would not find it where only a module of Python has loaded MPI.
static progress progress_of_ucx(void) {
  void* const ucx = dlopen("libucp.so.0", RTLD_LAZY);
  progress found = NULL;
  if (ucx != NULL) *(void**)&found = dlsym(ucx, "ucp_worker_progress");
  if (found == NULL) {
    fputs("sleeping_ranks.so: libucp.so.0 of UCX cannot be loaded\n", stderr);
    abort();
  }
  return found;
}

// Handles messages that have arrived, and returns how many.
unsigned ucp_worker_progress(void* worker) {
  static _Atomic(progress) known;
  static _Thread_local int empty_answers;
  progress real = known;
  if (real == NULL) known = real = progress_of_ucx();
  const unsigned events = real(worker);
  if (events != 0) {
    empty_answers = 0;
  } else if (++empty_answers == most_empty_answers) {
    const struct timespec pause = {.tv_nsec = sleep_nanoseconds};
    nanosleep(&pause, NULL);
    empty_answers = 0;
  }
  return events;
}
