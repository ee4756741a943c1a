#include "adapters/mpiio/taking.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "adapters/mpiio/needed_library.hpp"
#include "adapters/mpiio/passed_on.hpp"

namespace weir::mpiio {
namespace {

constinit std::atomic<const TakeOver*> loaded{nullptr};
constinit std::atomic<Reason> not_loaded{Reason::taken};  // why; taken: it was not tried yet

bool is_mpi_of_the_process(const char* needed) {
  if (!std::string_view(needed).starts_with("libmpi")) return false;
  void* const here = ::dlopen(needed, RTLD_LAZY | RTLD_NOLOAD);
  if (here == nullptr) return false;
  ::dlclose(here);
  return true;
}

Reason load_library(const char* path) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Reason::not_loaded;
  void* const found = ::dlsym(library, take_over_function);
  const TakeOver* const functions =
      found == nullptr ? nullptr : reinterpret_cast<GetTakeOver>(found)(take_over_version);
  if (functions == nullptr) return Reason::not_loaded;
  loaded.store(functions, std::memory_order_release);
  return Reason::taken;
}

// Loads the first of the libraries, whose paths have colons between them, that is linked with the
// MPI library of this process. Beside another MPI none is ever loaded: it would load its own.
Reason load(std::string_view paths) {
  while (!paths.empty()) {
    const std::string_view path = paths.substr(0, paths.find(':'));
    paths.remove_prefix(std::min(paths.size(), path.size() + 1));
    std::array<char, PATH_MAX> name{};
    if (path.empty() || path.size() >= name.size()) continue;
    path.copy(name.data(), path.size());
    if (any_needed_library(name.data(), is_mpi_of_the_process)) return load_library(name.data());
  }
  return Reason::other_mpi;
}

}  // namespace

const TakeOver* take_over() { return loaded.load(std::memory_order_acquire); }

const TakeOver* loaded_if_asked(Reason& reason) {
  const char* const paths = ::getenv("WEIR_MPIIO_TAKE_OVER");
  if (paths == nullptr || *paths == '\0') return nullptr;
  if (take_over() == nullptr && not_loaded.load(relaxed) == Reason::taken) {
    not_loaded.store(load(paths), relaxed);
  }
  reason = not_loaded.load(relaxed);
  return take_over();
}

TakenFile* taken_if_asked(const Opening& opening, Reason& reason) {
  const TakeOver* const takes_over = loaded_if_asked(reason);
  return takes_over == nullptr ? nullptr : takes_over->open(opening, reason);
}

void begin_taking() {
  const char* const nodes = ::getenv("WEIR_MPIIO_NODES");
  if (nodes == nullptr || std::string_view(nodes) != "all") return;
  Reason reason = Reason::taken;
  if (const TakeOver* const library = loaded_if_asked(reason)) library->meet_all_ranks();
}

void end_taking() {
  if (take_over() != nullptr) take_over()->finalize();
}

}  // namespace weir::mpiio
