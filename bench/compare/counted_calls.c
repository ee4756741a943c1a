// Measures the calls that `weir run --advise` counts: nanoseconds of each kind, one line each.
//
//   counted_calls FOLDER CALLS
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void must(int holds, const char* what) {
  if (holds) return;
  perror(what);
  _exit(1);
}

int main(int count, char** words) {
  must(count == 3 && chdir(words[1]) == 0, "usage: counted_calls FOLDER CALLS");
  const long calls = strtol(words[2], NULL, 10);
  struct stat found;
  char byte = 0;
  int file = open("counted", O_CREAT | O_RDWR | O_TRUNC, 0600);
  must(file >= 0 && write(file, &byte, 1) == 1, "counted");

  double start = now_ns();
  for (long i = 0; i < calls; ++i) must(stat("counted", &found) == 0, "stat");
  printf("stat %.1f\n", (now_ns() - start) / (double)calls);

  start = now_ns();
  for (long i = 0; i < calls; ++i) must(pread(file, &byte, 1, 0) == 1, "pread");
  printf("pread %.1f\n", (now_ns() - start) / (double)calls);

  start = now_ns();
  for (long i = 0; i < calls; ++i) {
    const int again = open("counted", O_RDONLY);
    must(again >= 0 && close(again) == 0, "open and close");
  }
  printf("open+close %.1f\n", (now_ns() - start) / (double)calls);
  return unlink("counted");
}
