// Converts figures to the records of run.json (docs/schema/run.schema.json). Used on rank 0.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/cache_verdict.hpp"
#include "measurement/histogram.hpp"
#include "measurement/repetition.hpp"

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
[[nodiscard]] nlohmann::ordered_json histogram_json(const PhaseKey& key,
                                                    const std::string& function,
                                                    const LatencyHistogram& histogram);

// The rates of one direction of one repetition, over its phases.
struct DirectionRates {
  double span = 0;
  double slowest_rank = 0;
  double sum_of_ranks = 0;
  double foreground = 0;
};
// Returns the bytes of the direction's phases divided by the sum of their times; 0 if the direction
// has none.
[[nodiscard]] DirectionRates direction_rates(std::span<const PhaseFigures> phases,
                                             Direction direction);

// Returns the "rates" of run.json for one direction over the counted repetitions.
[[nodiscard]] nlohmann::ordered_json rates_json(Direction direction,
                                                std::span<const DirectionRates> repetitions,
                                                const std::string& headline_metric,
                                                const RepetitionPolicy& policy);

[[nodiscard]] const char* name_of(Direction direction);

}  // namespace weir::bench
