#include "measurement/result.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace weir::bench {
namespace {

using nlohmann::ordered_json;

// Returns the value with the type of its declaration.
ordered_json typed_value(const Settings& settings, const std::string& name,
                         const SettingValue& value) {
  switch (value.kind) {
    case SettingKind::integer:
    case SettingKind::bytes:
      return settings.integer(name);
    case SettingKind::real:
      return settings.real(name);
    case SettingKind::flag:
      return settings.flag(name);
    case SettingKind::text:
    case SettingKind::choice:
    case SettingKind::choices:
    case SettingKind::sizes:
      break;
  }
  return value.text;
}

}  // namespace

HostTable::HostTable(std::span<const NodeReport> nodes) {
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    hosts_.push_back(nodes[node].host);
    for (const int rank : nodes[node].ranks) {
      if (static_cast<std::size_t>(rank) >= node_of_rank_.size()) {
        node_of_rank_.resize(static_cast<std::size_t>(rank) + 1);
      }
      node_of_rank_[static_cast<std::size_t>(rank)] = static_cast<int>(node);
    }
  }
}

const std::string& HostTable::host_of(int rank) const {
  return hosts_.at(static_cast<std::size_t>(node_of_rank_.at(static_cast<std::size_t>(rank))));
}

ordered_json rate_or_null(double rate) { return rate > 0 ? ordered_json(rate) : nullptr; }

const char* name_of(Direction direction) { return direction == Direction::read ? "read" : "write"; }

ordered_json parameters_json(const Settings& settings) {
  ordered_json parameters = ordered_json::object();
  for (const auto& [name, value] : settings.values()) {
    parameters[name] = {{"value", typed_value(settings, name, value)},
                        {"origin", name_of(value.origin)}};
  }
  return parameters;
}

ordered_json spread_json(const Spread& spread, const HostTable& hosts) {
  return {{"min", spread.min},
          {"mean", spread.mean},
          {"max", spread.max},
          {"max_rank", spread.max_rank},
          {"max_host", hosts.host_of(spread.max_rank)}};
}

ordered_json phase_json(const PhaseFigures& figures, const std::string& function,
                        const CacheState& cache, const HostTable& hosts) {
  ordered_json phase;
  phase["function"] = function;
  phase["direction"] = name_of(figures.key.direction);
  phase["operations"] = figures.operations;
  phase["bytes"] = figures.bytes;
  phase["rate_span_bytes_per_second"] = rate_or_null(figures.rate_span);
  phase["rate_slowest_rank_bytes_per_second"] = rate_or_null(figures.rate_slowest_rank);
  phase["rate_sum_of_ranks_bytes_per_second"] = rate_or_null(figures.rate_sum_of_ranks);
  phase["rate_foreground_bytes_per_second"] = rate_or_null(figures.rate_foreground);
  phase["io_seconds"] = spread_json(figures.io_seconds, hosts);
  phase["foreground_seconds"] = spread_json(figures.foreground_seconds, hosts);
  phase["barrier_wait_seconds"] = spread_json(figures.barrier_wait_seconds, hosts);
  phase["token_wait_seconds"] = spread_json(figures.token_wait_seconds, hosts);
  phase["cache"] = to_json(cache);
  return phase;
}

ordered_json latencies_json(const LatencyHistogram& histogram) {
  ordered_json json;
  json["count"] = histogram.count();
  json["min_ns"] = histogram.min_ns();
  json["p50_ns"] = histogram.percentile_ns(0.5);
  json["p90_ns"] = histogram.percentile_ns(0.9);
  json["p99_ns"] = histogram.percentile_ns(0.99);
  json["p999_ns"] = histogram.percentile_ns(0.999);
  json["p9999_ns"] = histogram.percentile_ns(0.9999);
  json["max_ns"] = histogram.max_ns();
  json["buckets"] = ordered_json::array();
  for (int bucket = 0; bucket < LatencyHistogram::buckets; ++bucket) {
    const std::uint32_t count = histogram.counts()[static_cast<std::size_t>(bucket)];
    if (count == 0) continue;
    json["buckets"].push_back({LatencyHistogram::lower_bound_ns(bucket),
                               LatencyHistogram::lower_bound_ns(bucket + 1), count});
  }
  return json;
}

std::array<double, 4> direction_rates(std::span<const PhaseFigures> phases, Direction direction) {
  double bytes = 0;
  double span = 0;
  double slowest = 0;
  double foreground = 0;
  double by_sum = 0;
  for (const PhaseFigures& phase : phases) {
    if (phase.key.direction != direction) continue;
    const auto phase_bytes = static_cast<double>(phase.bytes);
    bytes += phase_bytes;
    span += phase.span_seconds;
    slowest += phase.io_seconds.max;
    foreground += phase.foreground_seconds.max;
    if (phase.rate_sum_of_ranks > 0) by_sum += phase_bytes / phase.rate_sum_of_ranks;
  }
  const auto rate = [bytes](double seconds) { return seconds > 0 ? bytes / seconds : 0; };
  return {rate(span), rate(slowest), rate(by_sum), rate(foreground)};
}

}  // namespace weir::bench
