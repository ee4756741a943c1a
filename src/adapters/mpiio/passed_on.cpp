#include "adapters/mpiio/passed_on.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

namespace weir::mpiio {
namespace {

// Libraries that may be those of an MPI, or of its bindings, which lead to it.
struct Libraries {
  std::array<const char*, 16> paths{};
  std::size_t count = 0;
};

int take_library(dl_phdr_info* library, std::size_t, void* taken) {
  auto& libraries = *static_cast<Libraries*>(taken);
  const std::string_view path(library->dlpi_name);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libmpi") && libraries.count < libraries.paths.size()) {
    libraries.paths[libraries.count++] = library->dlpi_name;
  }
  return 0;
}

// A program may load the MPI library late and for itself only (dlopen with RTLD_LOCAL): then it is
// not among those that are searched for everybody.
void* find_in_loaded_libraries(const char* name) {
  Libraries libraries;
  ::dl_iterate_phdr(take_library, &libraries);
  for (std::size_t i = 0; i < libraries.count; ++i) {
    void* const library = ::dlopen(libraries.paths[i], RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* const found = ::dlsym(library, name);
    ::dlclose(library);
    if (found != nullptr) return found;
  }
  return nullptr;
}

void* find_real_if_any(const char* name) {
  if (void* const found = ::dlsym(RTLD_NEXT, name)) return found;
  return find_in_loaded_libraries(name);
}

}  // namespace

void* find_real(const char* name) {
  if (void* const found = find_real_if_any(name)) return found;
  std::fprintf(stderr, "symbol lookup error: undefined symbol: %s: the MPI library has none\n",
               name);
  ::_exit(127);
}

void ask_for_threads() {
  constexpr int multiple = 3;  // MPI_THREAD_MULTIPLE of Open MPI and of MPICH
  using Query = int (*)(int*);
  if (!has_threads.load(relaxed)) return;
  void* const function = find_real_if_any("PMPI_Query_thread");
  int level = multiple;
  if (function == nullptr || reinterpret_cast<Query>(function)(&level) != success) return;
  has_threads.store(level >= multiple, relaxed);
}

std::uint64_t bytes_of(Handle datatype) {
  using Size = int (*)(Handle, Count*);
  static constinit std::atomic<void*> known{nullptr};
  void* function = known.load(relaxed);
  if (function == nullptr) {
    function = find_real_if_any("PMPI_Type_size_x");
    if (function == nullptr) return 0;
    known.store(function, relaxed);
  }
  Count size = 0;
  if (reinterpret_cast<Size>(function)(datatype, &size) != success || size < 0) return 0;
  return static_cast<std::uint64_t>(size);
}

}  // namespace weir::mpiio
