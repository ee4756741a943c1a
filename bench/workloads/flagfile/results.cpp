#include "workloads/flagfile/results.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/result.hpp"

namespace weir::bench::flagfile {
namespace {

using nlohmann::ordered_json;

constexpr std::array<Part, 2> parts = {Part::other, Part::poller};
constexpr std::array<const char*, 2> action_names = {"stat", "poll"};

double rate(double operations, double seconds) { return seconds > 0 ? operations / seconds : 0; }

}  // namespace

FlagRun::FlagRun(Variant variant, const Options& options, Executor& executor, ordered_json run)
    : SweptRun(variant.label, variant.slug, std::move(run)),
      variant_(std::move(variant)),
      options_(options),
      executor_(executor) {
  for (const char* action : action_names) {
    if (variant_.pollers > 0 || activities_.empty()) activities_.emplace_back(action);
  }
  verifies_items_ = true;
}

Status FlagRun::repeat(std::int32_t /*repetition*/) {
  auto record = executor_.run(variant_);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

ordered_json FlagRun::figures(const JobFacts& facts, bool counted) {
  items_verified_ += record_.files_verified;
  ordered_json phases = ordered_json::array();
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    phases.push_back(part_figures(facts, i, counted));
  }
  if (variant_.pollers > 0) add_notice(facts, counted);
  return {{"metadata", std::move(phases)}};
}

void FlagRun::add_notice(const JobFacts& facts, bool counted) {
  const std::int64_t flag_ns =
      record_.part == Part::idle ? 0 : record_.flag_ns + facts.offset.offset_ns;
  const std::int64_t set_ns = facts.job.rank == 0 ? flag_ns : 0;
  const std::int64_t seen_ns = record_.part == Part::poller ? flag_ns : 0;
  std::int64_t last_ns = 0;
  MPI_Reduce(&seen_ns, &last_ns, 1, MPI_INT64_T, MPI_MAX, 0, facts.job.world);
  if (facts.job.rank != 0 || !counted) return;
  notices_.add(std::max(0.0, seconds_of(last_ns - set_ns)));
  compare_clocks_over(notices_.values().back());
}

ordered_json FlagRun::part_figures(const JobFacts& facts, std::size_t part, bool counted) {
  const Job& job = facts.job;
  const bool mine = record_.part == parts.at(part);
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
      static_cast<double>(parts.at(part) == Part::other ? options_.others : variant_.pollers);
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    spreads[i].min = least_of_part[i];
    spreads[i].mean *= job.size / members;
  }
  const std::int64_t operations = mine ? record_.operations : 0;
  const std::array<double, 2> own{static_cast<double>(operations),
                                  rate(static_cast<double>(operations), elapsed)};
  const std::vector<double> sums = sum_over_ranks(job, own);
  const ActivePeriod* const active = mine ? &record_.active : nullptr;
  const double span = span_over_ranks(job, active, facts.offset);
  const double node_span = span_over_node(job, active);
  std::int64_t node_operations = 0;
  double node_busy = 0;
  MPI_Reduce(&operations, &node_operations, 1, MPI_INT64_T, MPI_SUM, 0, job.node);
  MPI_Reduce(&busy, &node_busy, 1, MPI_DOUBLE, MPI_MAX, 0, job.node);
  if (counted) {
    activities_[part].add(
        job, mine ? record_.latencies : LatencyHistogram{},
        {node_operations, node_busy, rate(static_cast<double>(node_operations), node_span)});
  }
  if (job.rank != 0) return nullptr;
  const std::array<double, 3> rates{rate(sums[0], spreads[0].max + spreads[2].min),
                                    rate(sums[0], span), sums[1]};
  if (counted) rates_.at(part).add(rates);
  return {{"action", action_names.at(part)},
          {"operations", static_cast<std::int64_t>(sums[0])},
          {"barrier_per_second", rates[0]},
          {"span_per_second", rates[1]},
          {"sum_of_ranks_per_second", rates[2]},
          {"elapsed_seconds", spread_json(spreads[0], facts.hosts)},
          {"busy_seconds", spread_json(spreads[1], facts.hosts)},
          {"barrier_wait_seconds", spread_json(spreads[2], facts.hosts)}};
}

bool FlagRun::converged(const RepetitionPolicy& policy) const {
  return others().headline().converged(policy);
}

void FlagRun::put_series(const RepetitionPolicy& policy) {
  run()["metadata"] = ordered_json::array();
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    run()["metadata"].push_back(
        activities_[i].action_json("file", rates_.at(i), policy, nodes_, i));
  }
  run()["flag"] = {{"pollers", variant_.pollers},
                   {"others", options_.others},
                   {"by_reading", options_.by_reading},
                   {"interval_seconds", options_.interval_seconds},
                   {"notice", notices_.empty() ? ordered_json() : notices_.to_json(policy)}};
}

std::string FlagRun::how_verified() const {
  return "every stat of a rank's own files found an empty regular file; every poller read the word "
         "of this repetition from the flag";
}

}  // namespace weir::bench::flagfile
