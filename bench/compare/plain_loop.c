// Does the least work with which a program can move a file: calls in a loop, with one reading of
// the clock at each end.
//
// usage: plain_loop read|write FILE TRANSFER_BYTES OPERATIONS
//
// It works through 1 MiB of prefaulted buffers, like weir-bench stream. The file is written once
// before (and its pages stay), so that both directions find it allocated. It prints the seconds of
// each of 7 passes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { most = 1048576, passes = 7 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int pass(int writing, int file, char* buffers, long transfer, long operations) {
  const long ring = most / transfer > 0 ? most / transfer : 1;
  for (long i = 0; i < operations; ++i) {
    char* buffer = buffers + i % ring * transfer;
    const ssize_t moved = writing ? pwrite(file, buffer, (size_t)transfer, i * transfer)
                                  : pread(file, buffer, (size_t)transfer, i * transfer);
    if (moved != transfer) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int writing = strcmp(argv[1], "write") == 0;
  const long transfer = strtol(argv[3], NULL, 10);
  const long operations = strtol(argv[4], NULL, 10);
  if (transfer < 1 || operations < 1) return 2;
  const long bytes = transfer > most ? transfer : most;
  char* buffers =
      mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffers == MAP_FAILED) return 1;
  memset(buffers, 1, (size_t)bytes);
  const int file = open(argv[2], O_RDWR | O_CREAT, 0600);
  if (file < 0 || pass(1, file, buffers, transfer, operations) != 0) {
    perror(argv[2]);
    return 1;
  }
  for (int i = 0; i < passes; ++i) {
    const double start = now();
    if (pass(writing, file, buffers, transfer, operations) != 0) {
      perror(argv[2]);
      return 1;
    }
    printf("%.9f\n", now() - start);
  }
  close(file);
  return 0;
}
