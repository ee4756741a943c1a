// Calls of libc by which a program, or a library like PnetCDF, cuts a file or gives it another name
// beside MPI-IO. A stager finds a file by its path, so what it has of a closed file is stored
// first.
//
// Declarations here repeat those of libc's headers, with their argument names.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "adapters/mpiio/passed_on.hpp"
#include "adapters/mpiio/taking.hpp"

namespace {

void await_closed(const char* path) {
  const auto* const library = weir::mpiio::take_over();
  if (library == nullptr || weir::mpiio::inside) return;
  const int before = errno;
  library->await_closed(path);
  errno = before;
}

}  // namespace

// Defines a function that returns `result`, in which `real` is libc's.
#define WEIR_OF_LIBC(name, parameters, result)                                                \
  int name parameters noexcept {                                                              \
    static auto* const real = reinterpret_cast<decltype(&::name)>(::dlsym(RTLD_NEXT, #name)); \
    return result;                                                                            \
  }

extern "C" {

WEIR_OF_LIBC(truncate, (const char* file, off_t length), (await_closed(file), real(file, length)))
WEIR_OF_LIBC(truncate64, (const char* file, off64_t length),
             (await_closed(file), real(file, length)))
WEIR_OF_LIBC(rename, (const char* old_path, const char* new_path),
             (await_closed(old_path), await_closed(new_path), real(old_path, new_path)))

}  // extern "C"
