#include "adapters/takeover/opened_again.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "common/settings.hpp"
#include "system/file_facts.hpp"
#include "system/incomplete.hpp"
#include "system/known_file.hpp"

namespace weir::takeover {
namespace {

constexpr bool is_regular(mode_t mode) { return (mode & 0170000U) == 0100000U; }

bool asks_for_stager() {
  const std::string staging = process_environment("WEIR_STAGING").value_or("");
  return !staging.empty() && staging != "none";
}

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

std::optional<storage::DataFiles> staged_as(const mpiio::Opening& opening,
                                            const storage::File& own) {
  const bool writes = (opening.mode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0;
  if (!opening.stages || !writes || !asks_for_stager()) return std::nullopt;
  // Weir's connector of HDF5 writes the same files, and does not know what is staged of them.
  if (process_environment("HDF5_VOL_CONNECTOR").value_or("").starts_with("weir")) {
    return std::nullopt;
  }
  const std::string path = storage::absolute_path(opening.path);
  const auto identity = storage::identity_of(path);
  if (identity != storage::identity_of(own.descriptor())) return std::nullopt;
  auto names = storage::DataFiles::one(path);
  if (identity) {
    names.set_known(
        std::make_shared<const storage::KnownFile>(storage::KnownFile{path, *identity}));
  }
  return names;
}

}  // namespace weir::takeover
