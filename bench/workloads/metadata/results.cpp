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

}  // namespace

MetadataRun::MetadataRun(Variant variant, const Options& options, Executor& executor,
                         ordered_json run)
    : SweptRun(variant.label, variant.slug, std::move(run)),
      variant_(std::move(variant)),
      executor_(executor) {
  for (const Measured& measured : measured_on(options, variant_)) {
    activities_.emplace_back(measured.name());
    history_.push_back({.measured = measured});
  }
  verifies_items_ = true;
}

Status MetadataRun::repeat(std::int32_t /*repetition*/) {
  auto record = executor_.run(variant_);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

ordered_json MetadataRun::figures(const JobFacts& facts, bool counted) {
  items_verified_ += record_.items_verified;
  ordered_json phases = ordered_json::array();
  for (std::size_t i = 0; i < history_.size(); ++i) {
    phases.push_back(phase_figures(facts, i, counted));
  }
  return {{"metadata", std::move(phases)}};
}

ordered_json MetadataRun::phase_figures(const JobFacts& facts, std::size_t phase, bool counted) {
  const Job& job = facts.job;
  const ActionRecord& record = record_.phases[phase];
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
  if (counted) {
    activities_[phase].add(job, record.latencies,
                           {node_operations, node_busy, rate(node_operations, node_span)});
  }
  const auto calls =
      executor_.counts_server_calls() ? sum_over_nodes(job, record.server_calls) : std::nullopt;
  if (job.rank != 0) return nullptr;
  const auto operations = static_cast<std::int64_t>(sums[0]);
  const double barrier_seconds = spreads[1].max;
  const std::array<double, 3> rates{rate(operations, barrier_seconds), rate(operations, span),
                                    sums[1]};
  if (counted) {
    ActionHistory& history = history_[phase];
    history.operations = operations;
    history.rates.add(rates);
    history.barrier_seconds.add(barrier_seconds);
    history.span_seconds.add(span);
    compare_clocks_over(span);
  }
  return {{"action", record.measured.name()},
          {"operations", operations},
          {"barrier_per_second", rates[0]},
          {"span_per_second", rates[1]},
          {"sum_of_ranks_per_second", rates[2]},
          {"elapsed_seconds", spread_json(spreads[0], facts.hosts)},
          {"busy_seconds", spread_json(spreads[2], facts.hosts)},
          {"barrier_wait_seconds", spread_json(spreads[3], facts.hosts)},
          {"server_calls", calls ? ordered_json(*calls) : ordered_json()}};
}

bool MetadataRun::converged(const RepetitionPolicy& policy) const {
  // The few directories of a tree do not indicate when to stop, and the parts of a mix add nothing
  // new.
  return std::ranges::all_of(history_, [&](const ActionHistory& history) {
    return facts_of(history.measured.action).subject == Subject::tree || history.measured.of_mix ||
           history.rates.headline().converged(policy);
  });
}

void MetadataRun::put_series(const RepetitionPolicy& policy) {
  ordered_json actions = ordered_json::array();
  for (std::size_t i = 0; i < history_.size(); ++i) {
    actions.push_back(activities_[i].action_json(item_of(history_[i].measured.action),
                                                 history_[i].rates, policy, nodes_, i));
  }
  run()["metadata"] = std::move(actions);
}

std::string MetadataRun::how_verified() const {
  return "after every phase each rank checked every item that it had used (type, size, owner, and "
         "the attributes that the phase set); the directories were listed and their entries "
         "counted; the data that create and write wrote was read back";
}

}  // namespace weir::bench::metadata
