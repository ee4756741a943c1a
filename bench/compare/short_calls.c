// Makes independent calls of MPI-IO of a few bytes, one after the other, and prints for each kind
// the processor's time of a call in nanoseconds, the median of several series.
//
//   short_calls FILE BYTES CALLS
//
// The calls move BYTES at explicit offsets and at the file pointer, in a view of doubles (dense)
// and in one with a hole as long as BYTES behind each of them (rows).
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { series = 7, places = 4096, kinds = 4 };
static const char* const kind_names[kinds] = {"write_at", "read_at", "write", "read"};

static double processor_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int ascending(const void* a, const void* b) {
  const double one = *(const double*)a;
  const double other = *(const double*)b;
  return (one > other) - (one < other);
}

static int call(int kind, MPI_File file, MPI_Offset at, double* memory, int count) {
  MPI_Status status;
  switch (kind) {
    case 0:
      return MPI_File_write_at(file, at, memory, count, MPI_DOUBLE, &status);
    case 1:
      return MPI_File_read_at(file, at, memory, count, MPI_DOUBLE, &status);
    case 2:
      return MPI_File_write(file, memory, count, MPI_DOUBLE, &status);
    default:
      return MPI_File_read(file, memory, count, MPI_DOUBLE, &status);
  }
}

static double ns_of_call(int kind, MPI_File file, double* memory, int count, long calls) {
  double each[series];
  for (int one = 0; one < series; ++one) {
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    const double begin = processor_ns();
    for (long i = 0; i < calls; ++i) {
      if (call(kind, file, i % places * count, memory, count) != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    each[one] = (processor_ns() - begin) / (double)calls;
  }
  qsort(each, series, sizeof(double), ascending);
  return each[series / 2];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc == 4 ? (int)strtol(argv[2], NULL, 10) / (int)sizeof(double) : 0;
  const long calls = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
  double* const memory = calloc((size_t)count + 1, sizeof(double));
  if (count <= 0 || calls <= 0 || memory == NULL) {
    fprintf(stderr, "usage: short_calls FILE BYTES CALLS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Datatype rows = MPI_DATATYPE_NULL;
  MPI_Type_vector(1024, count, 2 * count, MPI_DOUBLE, &rows);
  MPI_Type_commit(&rows);
  for (int view = 0; view < 2; ++view) {
    MPI_File_set_view(file, 0, MPI_DOUBLE, view == 0 ? MPI_DOUBLE : rows, "native", MPI_INFO_NULL);
    for (int kind = 0; kind < kinds; ++kind) {
      printf("%s_%s %.1f\n", view == 0 ? "dense" : "rows", kind_names[kind],
             ns_of_call(kind, file, memory, count, calls));
    }
  }
  MPI_Type_free(&rows);
  MPI_File_close(&file);
  free(memory);
  MPI_Finalize();
  return 0;
}
