#include "workloads/metadata/results.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/result.hpp"

namespace weir::bench::metadata {
namespace {

using nlohmann::ordered_json;

double rate(std::int64_t operations, double seconds) {
  return seconds > 0 ? static_cast<double>(operations) / seconds : 0;
}

const char* item_of(Action action) {
  if (action == Action::mix) return "item";
  switch (facts_of(action).subject) {
    case Subject::tree:
    case Subject::directory:
      return "directory";
    case Subject::listing:
      return "entry";
    case Subject::file:
      break;
  }
  return "file";
}

struct Metric {
  const char* name;
  double PhaseRates::*rate;
};
constexpr Metric metrics[] = {{"barrier", &PhaseRates::barrier},
                              {"span", &PhaseRates::span},
                              {"sum_of_ranks", &PhaseRates::sum_of_ranks}};
constexpr const char* headline = "span";

std::vector<double> values_of(const ActionHistory& history, double PhaseRates::*metric) {
  std::vector<double> values;
  values.reserve(history.repetitions.size());
  for (const PhaseRates& one : history.repetitions) values.push_back(one.*metric);
  return values;
}

ordered_json rates_of(const ActionHistory& history, const RepetitionPolicy& policy) {
  ordered_json rates = ordered_json::array();
  for (const Metric& metric : metrics) {
    const std::vector<double> values = values_of(history, metric.rate);
    const MedianInterval interval = median_interval(values, policy.confidence);
    rates.push_back({{"metric", metric.name},
                     {"headline", std::string_view(metric.name) == headline},
                     {"values_per_second", values},
                     {"median_per_second", interval.median},
                     {"low_per_second", interval.low},
                     {"high_per_second", interval.high},
                     {"confidence", interval.confidence},
                     {"converged", converged(policy, values)}});
  }
  return rates;
}

// Returns the figures of histogram_json() without the direction, which metadata lacks.
ordered_json latencies_json(const LatencyHistogram& histogram) {
  ordered_json json = histogram_json({}, "", histogram);
  json.erase("function");
  json.erase("direction");
  return json;
}

}  // namespace

MetadataRun::MetadataRun(Variant variant, const Options& options, Executor& executor,
                         ordered_json run)
    : variant_(std::move(variant)), executor_(executor), run_(std::move(run)) {
  for (const Measured& measured : measured_on(options, variant_)) {
    history_.emplace_back();
    history_.back().measured = measured;
  }
}

Status MetadataRun::repeat(std::int32_t /*repetition*/) {
  auto record = executor_.run(variant_);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

void MetadataRun::add(const JobFacts& facts, const RepetitionPlace& place) {
  ++repetitions_;
  items_verified_ += record_.items_verified;
  ordered_json phases = ordered_json::array();
  for (std::size_t i = 0; i < history_.size(); ++i) {
    add_phase(facts, record_.phases[i], place.counted, history_[i], phases);
  }
  if (facts.job.rank != 0) return;
  const double seconds = seconds_of(place.ended_ns - place.started_ns);
  if (place.counted) seconds_.push_back(seconds);
  run_["repetitions"].push_back(
      {{"index", place.index},
       {"warmup", !place.counted},
       {"outlier", false},  // set at the end
       {"started_seconds", seconds_of(place.started_ns + facts.offset.offset_ns - facts.epoch_ns)},
       {"seconds", seconds},
       {"order", place.order},
       {"phases", ordered_json::array()},
       {"functions", ordered_json::array()},
       {"metadata", std::move(phases)}});
}

void MetadataRun::add_phase(const JobFacts& facts, const ActionRecord& record, bool counts,
                            ActionHistory& history, ordered_json& phases) {
  const Job& job = facts.job;
  const double elapsed = seconds_of(record.elapsed_ns());
  const double busy = seconds_of(record.busy_ns);
  const std::array<double, 4> times{elapsed, seconds_of(record.elapsed_ns() + record.wait_ns), busy,
                                    seconds_of(record.wait_ns)};
  const std::vector<Spread> spreads = spread_over_ranks(job, times);
  const std::array<double, 2> mine{static_cast<double>(record.operations),
                                   rate(record.operations, elapsed)};
  const std::vector<double> sums = sum_over_ranks(job, mine);
  std::int64_t node_operations = 0;
  double node_busy = 0;
  MPI_Reduce(&record.operations, &node_operations, 1, MPI_INT64_T, MPI_SUM, 0, job.node);
  MPI_Reduce(&busy, &node_busy, 1, MPI_DOUBLE, MPI_MAX, 0, job.node);
  // The parts of a mix share the time of the whole mix.
  const bool acted = record.operations > 0 || record.measured.of_mix;
  const ActivePeriod* const active = acted ? &record.active : nullptr;
  const double span = span_over_ranks(job, active, facts.offset);
  const double node_span = span_over_node(job, active);
  if (counts) {
    // The histograms are merged after every repetition, so that a job that is ended by a signal
    // keeps them.
    history.latencies.merge(merge_over_ranks(job, record.latencies));
    if (job.node_rank == 0) {
      history.node_operations = node_operations;
      history.node_busy_seconds_max = std::max(history.node_busy_seconds_max, node_busy);
      history.node_rates.push_back(rate(node_operations, node_span));
    }
  }
  const auto calls =
      executor_.counts_server_calls() ? sum_over_nodes(job, record.server_calls) : std::nullopt;
  if (job.rank != 0) return;
  PhaseRates rates;
  rates.operations = static_cast<std::int64_t>(sums[0]);
  rates.barrier_seconds = spreads[1].max;
  rates.span_seconds = span;
  rates.barrier = rate(rates.operations, rates.barrier_seconds);
  rates.span = rate(rates.operations, rates.span_seconds);
  rates.sum_of_ranks = sums[1];
  phases.push_back({{"action", record.measured.name()},
                    {"operations", rates.operations},
                    {"barrier_per_second", rates.barrier},
                    {"span_per_second", rates.span},
                    {"sum_of_ranks_per_second", rates.sum_of_ranks},
                    {"elapsed_seconds", spread_json(spreads[0], facts.hosts)},
                    {"busy_seconds", spread_json(spreads[2], facts.hosts)},
                    {"barrier_wait_seconds", spread_json(spreads[3], facts.hosts)},
                    {"server_calls", calls ? ordered_json(*calls) : ordered_json()}});
  if (!counts) return;
  history.repetitions.push_back(rates);
  if (span > 0) shortest_span_seconds_ = std::min(shortest_span_seconds_, span);
}

bool MetadataRun::settled(const RepetitionPolicy& policy) const {
  if (counted() >= policy.maximum) return true;
  if (counted() < policy.minimum) return false;
  // The few directories of a tree do not indicate when to stop, and the parts of a mix add nothing
  // new.
  return std::all_of(history_.begin(), history_.end(), [&](const ActionHistory& history) {
    return facts_of(history.measured.action).subject == Subject::tree || history.measured.of_mix ||
           converged(policy, values_of(history, &PhaseRates::span));
  });
}

void MetadataRun::put_rates(const RepetitionPolicy& policy) {
  if (seconds_.empty()) return;
  const std::vector<bool> outlying = outliers(seconds_);
  std::size_t number = 0;
  for (ordered_json& repetition : run_["repetitions"]) {
    if (!repetition["warmup"].get<bool>()) repetition["outlier"] = bool{outlying[number++]};
  }
  ordered_json actions = ordered_json::array();
  for (std::size_t i = 0; i < history_.size(); ++i) {
    ordered_json by_node = ordered_json::array();
    for (const NodeReport& node : nodes_) {
      by_node.push_back({{"host", node.host},
                         {"operations", static_cast<std::int64_t>(node.figures[3 * i])},
                         {"busy_seconds_max", node.figures[3 * i + 1]},
                         {"median_per_second", node.figures[3 * i + 2]}});
    }
    actions.push_back({{"action", history_[i].measured.name()},
                       {"item", item_of(history_[i].measured.action)},
                       {"rates", rates_of(history_[i], policy)},
                       {"latencies", latencies_json(history_[i].latencies)},
                       {"nodes", std::move(by_node)}});
  }
  run_["metadata"] = std::move(actions);
}

void MetadataRun::finish(const JobFacts& facts, const ordered_json& environment,
                         const ordered_json& clocks) {
  const Job& job = facts.job;
  std::vector<double> figures;
  for (const ActionHistory& history : history_) {
    figures.push_back(static_cast<double>(history.node_operations));
    figures.push_back(history.node_busy_seconds_max);
    figures.push_back(history.node_rates.empty() ? 0 : median_interval(history.node_rates).median);
  }
  nodes_ = gather_nodes(job, figures);
  const std::array<double, 1> verified{static_cast<double>(items_verified_)};
  const std::vector<double> all_verified = sum_over_ranks(job, verified);
  if (job.rank != 0) return;
  put_rates(facts.core.repetitions);
  for (const NodeReport& node : nodes_) {
    run_["nodes"].push_back(
        {{"host", node.host}, {"ranks", node.ranks}, {"phases", ordered_json::array()}});
  }
  if (facts.core.verify) {
    run_["verification"]["how"] =
        "after every phase each rank looked at every item that it had handled (type, size, owner, "
        "and what the phase set), the directories were listed, and what was found was counted; "
        "what create and write wrote was read back";
    run_["verification"]["items_verified"] = static_cast<std::int64_t>(all_verified[0]);
  }
  run_["clocks"] = clocks;
  run_["environment"] = environment;
  run_["status"] = "complete";
  run_["finished_utc"] = utc_now();
}

}  // namespace weir::bench::metadata
