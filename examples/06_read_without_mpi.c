/* Shows the arrays of a file, by one process, without MPI: 06_read_without_mpi FILE. */
#include <stdio.h>
#include <weir/files.h>

int main(int argc, char** argv) {
  weir_files* file = NULL;
  if (argc != 2 || weir_files_open(argv[1], &file) != WEIR_FILES_OK) {
    fprintf(stderr, "%s\n", argc == 2 ? weir_files_last_error() : "name one file");
    return 1;
  }
  for (int64_t array = 0; array < weir_files_arrays(file); ++array) {
    const int64_t first[16] = {0};
    int64_t one[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    unsigned char element[16] = {0};
    const char* type = weir_files_array_element_type(file, array);
    if (weir_files_array_element_bytes(file, array) > 16 ||
        weir_files_read(file, array, first, one, NULL, element, NULL) != WEIR_FILES_OK) {
      continue;
    }
    printf("%s: %s, first byte %d\n", weir_files_array_name(file, array), type, element[0]);
  }
  return weir_files_close(&file);
}
