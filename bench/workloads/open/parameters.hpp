// What the workload open does: its settings, and the configurations that their lists make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"

namespace weir::bench::opening {

// What a program opens the file with.
enum class Api { posix, mpiio, hdf5, pnetcdf, weir };
[[nodiscard]] const char* name_of(Api api);  // as users give them
[[nodiscard]] bool uses_mpi_io(Api api);

// How the ranks share files, which hold the same data in all together.
enum class Layout { shared, per_rank, subfiled };
[[nodiscard]] const char* name_of(Layout layout);

// One configuration.
struct Variant {
  Api api = Api::posix;
  Layout layout = Layout::shared;
  std::string label = {};  // "MPIIO (romio) shared"
  std::string slug = {};   // no two configurations of a job share one
};

// What all configurations of a job share.
struct Options {
  std::int64_t bytes = 64;           // of each rank; a multiple of 8
  std::int64_t ranks_per_file = 0;   // subfiled
  std::int64_t ranks_per_node = 0;   // as the library takes them; 0: those that share memory
  std::string mpi_io;                // ompio, romio; empty: the MPI library's choice
  bool count = true;                 // a pass in which calls are counted
  double operations_per_second = 0;  // of the file system, for what is expected; 0: not known
};

// The workload's own settings and the core's.
[[nodiscard]] std::vector<Setting> declarations();

[[nodiscard]] Result<Options> options_of(const Settings& settings);
// The product of the lists of --api and --layout. What this build has no library for is refused
// where it was asked for by name, and left out otherwise.
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings);
[[nodiscard]] Status check_core(const CoreSettings& core);

// How many ranks share a file; the last file may have fewer. Of the library's own subfiles, which
// it distributes to its aggregators itself, all.
[[nodiscard]] std::int64_t sharers_of(const Variant& variant, const Options& options,
                                      std::int64_t ranks);

// Whether this build has the library behind an interface; one line on what to do otherwise.
[[nodiscard]] Status check_available(Api api);

// Has the MPI library take that implementation of MPI-IO: call before MPI_Init.
[[nodiscard]] Status choose_mpi_io(const std::string& name);

}  // namespace weir::bench::opening
