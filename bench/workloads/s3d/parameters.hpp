// The settings of the s3d workload beside those that all such workloads share, and the grids of
// processes that follow from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "array/per_dimension.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "workloads/output/parameters.hpp"

namespace weir::bench::s3d {

// The options that all configurations of a job share.
struct Options {
  std::int64_t nx = 0;  // cells of a rank, or of all ranks together
  std::int64_t ny = 0;
  std::int64_t nz = 0;
  bool strong = false;  // the cells are those of all ranks together
  std::optional<array::Indices> grid;
  std::optional<std::int64_t> restart_ranks;
  std::int64_t species = 0;
  std::int64_t steps = 0;
};

// The cells, and the processes along x, y and z among which they are divided.
struct Decomposition {
  array::Indices cells;
  array::Indices writing;
  array::Indices reading;  // of as many or fewer ranks; the others read nothing
};

[[nodiscard]] std::vector<Setting> declarations();
[[nodiscard]] Options options_of(const Settings& settings);
// Returns the decomposition for a job, or the first rule that the options break.
[[nodiscard]] Result<Decomposition> decomposition_of(const Options& options, std::int64_t ranks,
                                                     const std::vector<output::Variant>& variants);

}  // namespace weir::bench::s3d
