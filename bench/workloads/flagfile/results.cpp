#include "workloads/flagfile/results.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/result.hpp"

namespace weir::bench::flagfile {
namespace {

using nlohmann::ordered_json;

constexpr std::array<Part, 2> parts = {Part::other, Part::poller};
constexpr std::array<const char*, 2> action_names = {"stat", "poll"};

constexpr const char* how_verified =
    "every stat of a rank's own files found an empty regular file; every poller read the flag and "
    "found this repetition's word";

double rate(double operations, double seconds) { return seconds > 0 ? operations / seconds : 0; }

ordered_json rate_json(const char* metric, const std::vector<double>& values,
                       const RepetitionPolicy& policy) {
  const MedianInterval interval = median_interval(values, policy.confidence);
  return {{"metric", metric},
          {"headline", std::string_view(metric) == "span"},
          {"values_per_second", values},
          {"median_per_second", interval.median},
          {"low_per_second", interval.low},
          {"high_per_second", interval.high},
          {"confidence", interval.confidence},
          {"converged", converged(policy, values)}};
}

ordered_json latencies_json(const LatencyHistogram& histogram) {
  ordered_json json = histogram_json({}, "", histogram);
  json.erase("function");
  json.erase("direction");
  return json;
}

}  // namespace

FlagRun::FlagRun(Variant variant, const Options& options, Executor& executor, ordered_json run)
    : variant_(std::move(variant)), options_(options), executor_(executor), run_(std::move(run)) {}

Status FlagRun::repeat(std::int32_t /*repetition*/) {
  auto record = executor_.run(variant_);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

void FlagRun::add(const JobFacts& facts, const RepetitionPlace& place) {
  ++repetitions_;
  files_verified_ += record_.files_verified;
  ordered_json phases = ordered_json::array();
  for (const Part part : parts) {
    if (part == Part::poller && variant_.pollers == 0) continue;
    phases.push_back(add_part(facts, part, place.counted));
  }
  const std::int64_t flag_ns =
      record_.part == Part::idle ? 0 : record_.flag_ns + facts.offset.offset_ns;
  std::int64_t set_ns = facts.job.rank == 0 ? flag_ns : 0;
  std::int64_t seen_ns = record_.part == Part::poller ? flag_ns : 0;
  std::int64_t last_ns = 0;
  MPI_Reduce(&seen_ns, &last_ns, 1, MPI_INT64_T, MPI_MAX, 0, facts.job.world);
  if (facts.job.rank != 0) return;
  if (variant_.pollers > 0 && place.counted) {
    const double notice = std::max(0.0, seconds_of(last_ns - set_ns));
    notices_.push_back(notice);
    if (notice > 0) shortest_notice_ = std::min(shortest_notice_, notice);
  }
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

ordered_json FlagRun::add_part(const JobFacts& facts, Part part, bool counts) {
  const Job& job = facts.job;
  const auto which = static_cast<std::size_t>(part);
  const bool mine = record_.part == part;
  // The figures are those of the part's own ranks: ranks without a part have no time.
  const double elapsed = mine ? seconds_of(record_.active.end_ns - record_.active.start_ns) : 0;
  const double busy = mine ? seconds_of(record_.busy_ns) : 0;
  const std::array<double, 3> times{elapsed, busy, mine ? seconds_of(record_.wait_ns) : 0};
  std::vector<Spread> spreads = spread_over_ranks(job, times);
  std::array<double, 3> least = times;
  if (!mine) least.fill(std::numeric_limits<double>::infinity());
  std::array<double, 3> least_of_part{};
  MPI_Reduce(least.data(), least_of_part.data(), 3, MPI_DOUBLE, MPI_MIN, 0, job.world);
  const auto members =
      static_cast<double>(part == Part::other ? options_.others : variant_.pollers);
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    spreads[i].min = least_of_part[i];
    spreads[i].mean *= job.size / members;
  }
  const std::int64_t operations = mine ? record_.operations : 0;
  const std::array<double, 2> figures{static_cast<double>(operations),
                                      rate(static_cast<double>(operations), elapsed)};
  const std::vector<double> sums = sum_over_ranks(job, figures);
  const ActivePeriod* const active = mine ? &record_.active : nullptr;
  const double span = span_over_ranks(job, active, facts.offset);
  const double node_span = span_over_node(job, active);
  std::int64_t node_operations = 0;
  double node_busy = 0;
  MPI_Reduce(&operations, &node_operations, 1, MPI_INT64_T, MPI_SUM, 0, job.node);
  MPI_Reduce(&busy, &node_busy, 1, MPI_DOUBLE, MPI_MAX, 0, job.node);
  PartHistory& history = history_[which];
  if (counts) {
    if (mine) history.latencies.merge(record_.latencies);
    if (job.node_rank == 0) {
      history.node_operations = node_operations;
      history.node_busy_seconds_max = std::max(history.node_busy_seconds_max, node_busy);
      history.node_rates.push_back(rate(static_cast<double>(node_operations), node_span));
    }
  }
  if (job.rank != 0) return nullptr;
  const double with_barrier = rate(sums[0], spreads[0].max + spreads[2].min);
  const double span_rate = rate(sums[0], span);
  if (counts) {
    rates_[which].barrier.push_back(with_barrier);
    rates_[which].span.push_back(span_rate);
    rates_[which].sum_of_ranks.push_back(sums[1]);
  }
  return {{"action", action_names[which]},
          {"operations", static_cast<std::int64_t>(sums[0])},
          {"barrier_per_second", with_barrier},
          {"span_per_second", span_rate},
          {"sum_of_ranks_per_second", sums[1]},
          {"elapsed_seconds", spread_json(spreads[0], facts.hosts)},
          {"busy_seconds", spread_json(spreads[1], facts.hosts)},
          {"barrier_wait_seconds", spread_json(spreads[2], facts.hosts)}};
}

bool FlagRun::settled(const RepetitionPolicy& policy) const {
  if (counted() >= policy.maximum) return true;
  return counted() >= policy.minimum && converged(policy, others().span);
}

void FlagRun::finish(const JobFacts& facts, const ordered_json& environment,
                     const ordered_json& clocks) {
  const Job& job = facts.job;
  std::vector<LatencyHistogram> merged;
  std::vector<double> figures;
  for (const PartHistory& history : history_) {
    merged.push_back(merge_over_ranks(job, history.latencies));
    figures.push_back(static_cast<double>(history.node_operations));
    figures.push_back(history.node_busy_seconds_max);
    figures.push_back(history.node_rates.empty() ? 0 : median_interval(history.node_rates).median);
  }
  const std::vector<NodeReport> nodes = gather_nodes(job, figures);
  const std::array<double, 1> verified{static_cast<double>(files_verified_)};
  const std::vector<double> all_verified = sum_over_ranks(job, verified);
  if (job.rank != 0) return;
  const std::vector<bool> outlying = outliers(seconds_);
  std::size_t number = 0;
  for (ordered_json& repetition : run_["repetitions"]) {
    if (!repetition["warmup"].get<bool>()) repetition["outlier"] = bool{outlying[number++]};
  }
  const RepetitionPolicy& policy = facts.core.repetitions;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == Part::poller && variant_.pollers == 0) continue;
    ordered_json by_node = ordered_json::array();
    for (const NodeReport& node : nodes) {
      by_node.push_back({{"host", node.host},
                         {"operations", static_cast<std::int64_t>(node.figures[3 * i])},
                         {"busy_seconds_max", node.figures[3 * i + 1]},
                         {"median_per_second", node.figures[3 * i + 2]}});
    }
    run_["metadata"].push_back({{"action", action_names[i]},
                                {"item", "file"},
                                {"rates",
                                 {rate_json("barrier", rates_[i].barrier, policy),
                                  rate_json("span", rates_[i].span, policy),
                                  rate_json("sum_of_ranks", rates_[i].sum_of_ranks, policy)}},
                                {"latencies", latencies_json(merged[i])},
                                {"nodes", std::move(by_node)}});
  }
  ordered_json notice = nullptr;
  if (!notices_.empty()) {
    const MedianInterval interval = median_interval(notices_, policy.confidence);
    notice = {{"values_seconds", notices_},        {"median_seconds", interval.median},
              {"low_seconds", interval.low},       {"high_seconds", interval.high},
              {"confidence", interval.confidence}, {"converged", converged(policy, notices_)}};
  }
  run_["flag"] = {{"pollers", variant_.pollers},
                  {"others", options_.others},
                  {"by_reading", options_.by_reading},
                  {"interval_seconds", options_.interval_seconds},
                  {"notice", std::move(notice)}};
  for (const NodeReport& node : nodes) {
    run_["nodes"].push_back(
        {{"host", node.host}, {"ranks", node.ranks}, {"phases", ordered_json::array()}});
  }
  if (facts.core.verify) {
    run_["verification"]["how"] = how_verified;
    run_["verification"]["items_verified"] = static_cast<std::int64_t>(all_verified[0]);
  }
  run_["clocks"] = clocks;
  run_["environment"] = environment;
  run_["status"] = "complete";
  run_["finished_utc"] = utc_now();
}

}  // namespace weir::bench::flagfile
