// A phase or an action of a run over its counted repetitions: the latencies of its operations, and
// each node's part in it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measurement/aggregate.hpp"
#include "measurement/histogram.hpp"
#include "measurement/job.hpp"
#include "measurement/series.hpp"

namespace weir::bench {

// The part of one node in an activity.
struct NodeShare {
  std::int64_t amount = 0;      // bytes of a phase, operations of an action
  double busy_seconds_max = 0;  // of the node's slowest rank
  double rate = 0;              // amount per second; 0 if no time passed
};

// Returns the part of a node in a phase.
[[nodiscard]] NodeShare share_of(const NodePhase& node);

class Activity {
 public:
  // `name` is that of a function or an action. Only a phase that moves bytes has a direction.
  explicit Activity(std::string name, std::optional<Direction> direction = {})
      : name_(std::move(name)), direction_(direction) {}

  // Adds a counted repetition. Collective over the job. `mine` are this rank's latencies; `node`
  // matters on node leaders.
  void add(const Job& job, const LatencyHistogram& mine, const NodeShare& node);

  [[nodiscard]] bool moves_bytes() const { return direction_.has_value(); }

  // Returns the amount of the last repetition, the longest busy time over the repetitions, and the
  // median of the rates. On node leaders.
  [[nodiscard]] NodeShare node_share() const;

  // The following functions are for rank 0. `nodes` are those of gather_shares(), and this activity
  // was number `index`.
  [[nodiscard]] nlohmann::ordered_json phase_histogram_json() const;
  [[nodiscard]] nlohmann::ordered_json phase_of_node_json(const NodeReport& node,
                                                          std::size_t index) const;
  // Returns the record of an action that handles `item`s.
  [[nodiscard]] nlohmann::ordered_json action_json(const char* item, const Rates& rates,
                                                   const RepetitionPolicy& policy,
                                                   std::span<const NodeReport> nodes,
                                                   std::size_t index) const;

 private:
  std::string name_;
  std::optional<Direction> direction_;
  LatencyHistogram latencies_;  // rank 0: of all ranks
  // On node leaders.
  std::int64_t node_amount_ = 0;
  double node_busy_seconds_max_ = 0;
  std::vector<double> node_rates_;
};

// Gathers all nodes' parts in the activities. Collective over the job; the result is on rank 0.
[[nodiscard]] std::vector<NodeReport> gather_shares(const Job& job,
                                                    std::span<const Activity> activities);

}  // namespace weir::bench
