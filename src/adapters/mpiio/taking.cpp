#include "adapters/mpiio/taking.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "adapters/mpiio/passed_on.hpp"

namespace weir::mpiio {
namespace {

// The MPI library that Weir was built with, as the loader knows it; empty if it has none.
constexpr const char* mpi_of_weir = WEIR_MPI_SONAME;

constinit std::atomic<const TakeOver*> loaded{nullptr};
constinit std::atomic<Reason> not_loaded{Reason::taken};  // why; taken: it was not tried yet

bool is_mpi_of_weir_here() {
  if (*mpi_of_weir == '\0') return false;
  void* const here = ::dlopen(mpi_of_weir, RTLD_LAZY | RTLD_NOLOAD);
  if (here == nullptr) return false;
  ::dlclose(here);
  return true;
}

// The library is loaded beside another MPI never: it would load its own.
Reason load(const char* path) {
  if (!is_mpi_of_weir_here()) return Reason::other_mpi;
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Reason::not_loaded;
  void* const found = ::dlsym(library, take_over_function);
  const TakeOver* const functions =
      found == nullptr ? nullptr : reinterpret_cast<GetTakeOver>(found)(take_over_version);
  if (functions == nullptr) return Reason::not_loaded;
  loaded.store(functions, std::memory_order_release);
  return Reason::taken;
}

}  // namespace

const TakeOver* take_over() { return loaded.load(std::memory_order_acquire); }

TakenFile* taken_if_asked(const Opening& opening, Reason& reason) {
  const char* const path = ::getenv("WEIR_MPIIO_TAKE_OVER");
  if (path == nullptr || *path == '\0') return nullptr;
  if (take_over() == nullptr && not_loaded.load(relaxed) == Reason::taken) {
    not_loaded.store(load(path), relaxed);
  }
  reason = not_loaded.load(relaxed);
  return take_over() == nullptr ? nullptr : take_over()->open(opening, reason);
}

void end_taking() {
  if (take_over() != nullptr) take_over()->finalize();
}

}  // namespace weir::mpiio
