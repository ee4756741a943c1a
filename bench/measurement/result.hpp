// Converts figures to the records of run.json (docs/schema/run.schema.json). Used on rank 0.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/cache_verdict.hpp"
#include "measurement/histogram.hpp"

namespace weir::bench {

// The host of each rank. The table has one small number per rank, on rank 0 only.
class HostTable {
 public:
  HostTable() = default;
  explicit HostTable(std::span<const NodeReport> nodes);
  [[nodiscard]] const std::string& host_of(int rank) const;

 private:
  std::vector<std::string> hosts_;
  std::vector<int> node_of_rank_;
};

[[nodiscard]] nlohmann::ordered_json parameters_json(const Settings& settings);
[[nodiscard]] nlohmann::ordered_json spread_json(const Spread& spread, const HostTable& hosts);
[[nodiscard]] nlohmann::ordered_json phase_json(const PhaseFigures& figures,
                                                const std::string& function,
                                                const CacheState& cache, const HostTable& hosts);
// Returns the percentiles and the buckets of a histogram of latencies.
[[nodiscard]] nlohmann::ordered_json latencies_json(const LatencyHistogram& histogram);
[[nodiscard]] nlohmann::ordered_json rate_or_null(double rate);  // null for 0, which is unknown

// Returns the rates of one direction of one repetition, as Rates::of_bytes() names them: the bytes
// of the direction's phases divided by the sum of their times; 0 if the direction has none.
[[nodiscard]] std::array<double, 4> direction_rates(std::span<const PhaseFigures> phases,
                                                    Direction direction);

[[nodiscard]] const char* name_of(Direction direction);

}  // namespace weir::bench
