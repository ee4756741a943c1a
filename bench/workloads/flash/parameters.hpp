// The settings of the flash workload, and the configurations that follow from --api and --staging.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/core_settings.hpp"
#include "workloads/flash/tree.hpp"

namespace weir::bench::flash {

// One configuration.
struct Variant {
  const Interface* api = nullptr;
  bool staged = false;

  [[nodiscard]] std::string label() const;  // "weir-hdf5 staged"
  [[nodiscard]] std::string slug() const;   // no two configurations of a job share one
};

// The options that all configurations of a job share.
struct Options {
  double blocks = 0;             // per rank, on average
  std::uint64_t block_seed = 0;  // decides which ranks have one block more
  std::int64_t nxb = 0;          // cells of a block
  std::int64_t nyb = 0;
  std::int64_t nzb = 0;
  std::int64_t variables = 0;  // of a checkpoint
  std::vector<std::int64_t> plot_variables;
  std::int64_t checkpoints = 0;
  std::int64_t plots = 0;
  double work_seconds = 0;  // of busy work after each output step
  bool keep = false;        // the files of the last repetition stay
  std::string hints_file;

  [[nodiscard]] std::int64_t cells() const { return nxb * nyb * nzb; }
};

[[nodiscard]] FieldSettings<Variant> variant_table();
[[nodiscard]] std::vector<Setting> declarations();
[[nodiscard]] Options options_of(const Settings& settings);
// Returns the combinations of --api and --staging. An interface without staging takes part in those
// without; it is refused if there are none.
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings);
// Checks every rule between options, core settings and configurations. The error names the first
// rule that is broken.
[[nodiscard]] Status check_combination(const Options& options, const CoreSettings& core,
                                       const std::vector<Variant>& variants, std::int64_t ranks);

}  // namespace weir::bench::flash
