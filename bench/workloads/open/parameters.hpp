// The settings of the workload open, and the configurations that follow from their lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/core_settings.hpp"

namespace weir::bench::opening {

// Says how the ranks share files. The files together hold the same data in each layout.
enum class Layout { shared, per_rank, subfiled };

// One configuration.
struct Variant {
  // A program opens the file with this: an interface that knows the names of its files.
  const Interface* api = interface_named("posix");
  Layout layout = Layout::shared;
  std::string label = {};  // "MPIIO (romio) shared"
  std::string slug = {};   // unique among the configurations of a job
};

// The options that all configurations of a job share.
struct Options {
  bool one_file_per_rank = false;   // a creation storm: all three layouts
  std::int64_t bytes = 64;          // of each rank; a multiple of 8
  std::int64_t ranks_per_file = 0;  // with Layout::subfiled
  std::int64_t ranks_per_node = 0;  // as Weir's library counts them; 0: the ranks that share memory
  std::string io_groups = {};       // of Weir's library; "": one group
  std::string mpi_io;               // ompio or romio; empty: the MPI library's choice
  bool count = true;                // also run a pass in which calls are counted
  double operations_per_second = 0;  // of the file system, for the expectation; 0: unknown
};

// Returns the settings that differ between configurations.
[[nodiscard]] FieldSettings<Variant> variant_table();
// Returns the declarations of the workload's own settings and of the core settings.
[[nodiscard]] std::vector<Setting> declarations();

[[nodiscard]] Result<Options> options_of(const Settings& settings);
// Returns the combinations of --api and --layout. An interface whose library this build
// lacks is an error if the user named it, and is left out otherwise.
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings,
                                                       const Options& options);

// Returns how many ranks share a file; the last file may have fewer. All ranks share the subfiles
// of an interface that distributes them to its aggregators itself.
[[nodiscard]] std::int64_t sharers_of(const Variant& variant, const Options& options,
                                      std::int64_t ranks);

// Makes the MPI library use that implementation of MPI-IO. Call it before MPI_Init.
[[nodiscard]] Status choose_mpi_io(const std::string& name);

}  // namespace weir::bench::opening
