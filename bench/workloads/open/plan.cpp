#include "workloads/open/plan.hpp"

#include <nlohmann/json.hpp>

#include "measurement/workload_job.hpp"

namespace weir::bench::opening {

std::int64_t files_of(const Variant& variant, const Options& options, std::int64_t ranks) {
  // An interface that chooses its aggregators itself has at least one.
  if (variant.api->can.layouts) return variant.layout == Layout::per_rank ? ranks : 1;
  const std::int64_t sharers = sharers_of(variant, options, ranks);
  return (ranks + sharers - 1) / sharers;
}

nlohmann::ordered_json plan_json(const Variant& variant, const Options& options,
                                 std::int64_t ranks) {
  const std::int64_t memory = 2 * options.bytes;  // for the written and the read piece
  return planned(ranks, files_of(variant, options, ranks), memory, options.bytes * ranks);
}

}  // namespace weir::bench::opening
