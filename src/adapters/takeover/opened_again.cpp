#include "adapters/takeover/opened_again.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/types.h>

#include <utility>

#include "system/file_facts.hpp"

namespace weir::takeover {
namespace {

constexpr bool is_regular(mode_t mode) { return (mode & 0170000U) == 0100000U; }

}  // namespace

std::optional<storage::File> opened_again(const mpiio::Opening& opening) {
  if (opening.result != MPI_SUCCESS) return std::nullopt;
  const bool only_writes = (opening.mode & MPI_MODE_WRONLY) != 0;
  const bool writes = only_writes || (opening.mode & MPI_MODE_RDWR) != 0;
  auto file = storage::File::open(opening.path, {.write = writes});
  if (!file && only_writes) {
    file = storage::File::open(opening.path, {.read = false, .write = true});
  }
  if (!file) return std::nullopt;
  const auto facts = storage::facts_of(fmt::format("/proc/self/fd/{}", file.value().descriptor()));
  if (!facts || !is_regular(facts.value().mode)) return std::nullopt;
  return std::move(file).value();
}

}  // namespace weir::takeover
