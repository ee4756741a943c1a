#include "workloads/array/plan.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "measurement/result.hpp"
#include "measurement/target_directories.hpp"
#include "measurement/workload_job.hpp"

namespace weir::bench::array_io {
namespace {

using nlohmann::ordered_json;

// Returns the calls of rank 0 that move its part: one per row if every rank moves its own rows.
std::int64_t operations_of(const Geometry& geometry, const array::RegularDistribution& distribution,
                           const Variant& variant) {
  if (variant.contiguous || !variant.api->can.part_by_runs) return 1;
  std::int64_t runs = 0;
  for (const array::StridedCopy& copy : geometry.part(distribution, 0).runs()) {
    runs += copy.runs();
  }
  return std::max<std::int64_t>(runs, 1);
}

PlannedPhase phase_of(Direction direction, const Geometry& geometry, std::int64_t operations,
                      std::int64_t ranks) {
  return {.function = name_of(direction),
          .direction = direction,
          .operations_per_rank = operations,
          .bytes_per_operation = geometry.asked_bytes() / ranks / operations,
          .bytes_total = geometry.asked_bytes()};
}

// Returns the number of data files. If the number of aggregators is left open, it is unknown before
// the run; the result is then the minimum, one file for each directory.
std::int64_t files_of(const Options& options, const Variant& variant, std::int64_t ranks) {
  const auto directories =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(options.directories.size()));
  if (variant.contiguous) return std::min(directories, ranks);
  if (!variant.api->can.layouts || options.layout == FileLayout::shared) return 1;
  return options.layout == FileLayout::per_rank
             ? ranks
             : std::max({directories, options.aggregators, std::int64_t{1}});
}

}  // namespace

std::int64_t memory_bytes_per_rank(const Geometry& geometry) {
  const std::int64_t elements =
      std::max(geometry.writing.elements(0), geometry.reading.elements(0));
  return elements * geometry.type.bytes();
}

ordered_json plan_json(const Geometry& geometry, const Options& options, const Variant& variant,
                       std::int64_t ranks) {
  const std::int64_t files = files_of(options, variant, ranks);
  std::vector<PlannedPhase> phases;
  if (options.write) {
    const std::int64_t operations = operations_of(geometry, geometry.writing, variant);
    phases.push_back(phase_of(Direction::write, geometry, operations, ranks));
  }
  if (options.read) {
    const std::int64_t operations = operations_of(geometry, geometry.reading, variant);
    phases.push_back(phase_of(Direction::read, geometry, operations, ranks));
  }
  ordered_json plan =
      planned(ranks, files, memory_bytes_per_rank(geometry), geometry.array_bytes(), phases);
  plan["targets"] = ordered_json::array();
  // Files are distributed to the directories, and thus also the ranks whose bytes go to them.
  const auto directories = static_cast<std::int64_t>(options.directories.size());
  for (std::int64_t i = 0; i < directories; ++i) {
    const auto mine =
        ranks_of_directory(static_cast<std::size_t>(i), options.directories.size(), ranks);
    plan["targets"].push_back(
        {{"directory", options.directories[static_cast<std::size_t>(i)]},
         {"ranks", mine},
         {"files", files > i ? (files - 1 - i) / directories + 1 : 0},
         {"bytes_total", geometry.asked_bytes() / directories * std::ssize(phases)}});
  }
  return plan;
}

}  // namespace weir::bench::array_io
