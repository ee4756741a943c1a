/* Loads MPI late and for itself only, as an interpreter's module does. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  if (count < 2) return 2;
  void* const library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*all_calls)(const char*) = NULL;
  *(void**)&all_calls = dlsym(library, "all_calls"); /* as POSIX has it: C has no such cast */
  if (all_calls == NULL) return 1;
  return all_calls("threads");
}
