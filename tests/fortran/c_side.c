/* The other side of with_c_test.f90. */
#include <stdlib.h>
#include <string.h>
#include <weir/weir.h>

int c_writes(weir_session* session, const char* path);
int c_finds(weir_session* session, const char* path);

enum { slowest = 3, middle = 4, each = 2 };

static int distribute(weir_session* session, int64_t shape[3], weir_distribution** mine) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  shape[0] = slowest;
  shape[1] = middle;
  shape[2] = (int64_t)each * ranks;
  return weir_distribution_create(session, 3, shape, "*, *, BLOCK", NULL, mine);
}

static void fill(double* part) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < slowest; ++i) {
    for (int j = 0; j < middle; ++j) {
      for (int k = 0; k < each; ++k) *part++ = 100 * i + 10 * j + each * rank + k;
    }
  }
}

int c_writes(weir_session* session, const char* path) {
  int64_t shape[3];
  double part[slowest * middle * each];
  weir_distribution* mine = NULL;
  weir_array* array = NULL;
  fill(part);
  return distribute(session, shape, &mine) ||
         weir_array_create(session, path, 3, shape, "float64", NULL, &array) ||
         weir_write(array, mine, part) || weir_array_close(&array);
}

static int differ(const double* first, const double* second, int count) {
  for (int i = 0; i < count; ++i) {
    if (first[i] != second[i]) return 1;
  }
  return 0;
}

int c_finds(weir_session* session, const char* path) {
  int64_t shape[3];
  int64_t found[WEIR_MAX_DIMENSIONS] = {0};
  double expected[slowest * middle * each];
  double part[slowest * middle * each] = {0};
  weir_distribution* mine = NULL;
  weir_array* array = NULL;
  fill(expected);
  return distribute(session, shape, &mine) || weir_array_open(session, path, NULL, &array) ||
         weir_array_dimensions(array) != 3 || weir_array_shape(array, found) ||
         memcmp(shape, found, sizeof shape) != 0 || weir_read(array, mine, part) ||
         differ(part, expected, slowest * middle * each) || weir_array_close(&array);
}
