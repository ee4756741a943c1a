// The settings of the flash workload beside those that all such workloads share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "workloads/output/parameters.hpp"

namespace weir::bench::flash {

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

  [[nodiscard]] std::int64_t cells() const { return nxb * nyb * nzb; }
};

[[nodiscard]] std::vector<Setting> declarations();
[[nodiscard]] Options options_of(const Settings& settings);
// Checks every rule between the options. The error names the first rule that is broken.
[[nodiscard]] Status check_combination(const Options& options, std::int64_t ranks,
                                       const std::vector<output::Variant>& variants);

}  // namespace weir::bench::flash
