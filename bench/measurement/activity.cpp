#include "measurement/activity.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "measurement/result.hpp"

namespace weir::bench {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t figures_each = 3;  // of a node's part, in a NodeReport

NodeShare gathered_share(const NodeReport& node, std::size_t index) {
  const double* figures = &node.figures[figures_each * index];
  return {static_cast<std::int64_t>(figures[0]), figures[1], figures[2]};
}

}  // namespace

NodeShare share_of(const NodePhase& node) {
  const double seconds = node.io_seconds_max;
  return {node.bytes, seconds, seconds > 0 ? static_cast<double>(node.bytes) / seconds : 0};
}

void Activity::add(const Job& job, const LatencyHistogram& mine, const NodeShare& node) {
  // The histograms are merged after every repetition, so that a job that is ended by a signal keeps
  // them.
  latencies_.merge(merge_over_ranks(job, mine));
  if (job.node_rank != 0) return;
  node_amount_ = node.amount;
  node_busy_seconds_max_ = std::max(node_busy_seconds_max_, node.busy_seconds_max);
  node_rates_.push_back(node.rate);
}

NodeShare Activity::node_share() const {
  return {node_amount_, node_busy_seconds_max_, median_interval(node_rates_).median};
}

ordered_json Activity::phase_histogram_json() const {
  ordered_json json = {{"function", name_}, {"direction", name_of(*direction_)}};
  json.update(latencies_json(latencies_));
  return json;
}

ordered_json Activity::phase_of_node_json(const NodeReport& node, std::size_t index) const {
  const NodeShare share = gathered_share(node, index);
  return {{"function", name_},
          {"direction", name_of(*direction_)},
          {"bytes", share.amount},
          {"io_seconds_max", share.busy_seconds_max},
          {"rate_bytes_per_second", rate_or_null(share.rate)}};
}

ordered_json Activity::action_json(const char* item, const Rates& rates,
                                   const RepetitionPolicy& policy,
                                   std::span<const NodeReport> nodes, std::size_t index) const {
  ordered_json by_node = ordered_json::array();
  for (const NodeReport& node : nodes) {
    const NodeShare share = gathered_share(node, index);
    by_node.push_back({{"host", node.host},
                       {"operations", share.amount},
                       {"busy_seconds_max", share.busy_seconds_max},
                       {"median_per_second", share.rate}});
  }
  return {{"action", name_},
          {"item", item},
          {"rates", rates.to_json(ordered_json::object(), policy)},
          {"latencies", latencies_json(latencies_)},
          {"nodes", std::move(by_node)}};
}

std::vector<NodeReport> gather_shares(const Job& job, std::span<const Activity> activities) {
  std::vector<double> figures;
  for (const Activity& activity : activities) {
    const NodeShare share = activity.node_share();
    figures.push_back(static_cast<double>(share.amount));
    figures.push_back(share.busy_seconds_max);
    figures.push_back(share.rate);
  }
  return gather_nodes(job, std::span<const double>(figures));
}

}  // namespace weir::bench
