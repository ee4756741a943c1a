#include "workloads/flagfile/plan.hpp"

#include <nlohmann/json.hpp>

#include "measurement/histogram.hpp"

namespace weir::bench::flagfile {

nlohmann::ordered_json plan_json(const Options& options, std::int64_t ranks) {
  constexpr std::int64_t path_bytes = 256;
  const std::int64_t memory =
      2 * static_cast<std::int64_t>(sizeof(LatencyHistogram)) + options.files * path_bytes;
  nlohmann::ordered_json plan;
  plan["ranks"] = ranks;
  plan["files"] = options.others * options.files + 1;
  plan["memory_bytes_per_rank"] = memory;
  plan["memory_bytes_total"] = memory * ranks;
  plan["disk_bytes_total"] = 8;
  // The number of operations in --seconds is only known after the run.
  plan["phases"] = nlohmann::ordered_json::array();
  return plan;
}

}  // namespace weir::bench::flagfile
