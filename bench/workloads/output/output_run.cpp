#include "workloads/output/output_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/repetition.hpp"
#include "measurement/result.hpp"

namespace weir::bench::output {
namespace {

using nlohmann::ordered_json;

constexpr double mebibyte = 1048576;

}  // namespace

std::vector<Event> without_overlap(std::vector<Event> events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    for (std::size_t before = i; before-- > 0;) {
      if (events[before].function != events[i].function) continue;
      events[i].start_ns = std::max(events[i].start_ns, events[before].end_ns);
      break;
    }
  }
  return events;
}

double OutputRun::KindFigures::hidden_median() const {
  return hidden.empty() ? 0 : median_interval(hidden).median;
}

OutputRun::OutputRun(Configuration configuration, const Options& options, const Content& content,
                     Executor& executor, ordered_json run)
    : SweptRun(configuration.variant.label(), configuration.variant.slug(), std::move(run)),
      configuration_(std::move(configuration)),
      options_(options),
      content_(content),
      executor_(executor) {
  for (const Kind& kind : content.kinds()) {
    activities_.emplace_back(kind.name, Direction::write);
    kinds_.push_back({.kind = kind});
  }
}

Status OutputRun::repeat(std::int32_t repetition) {
  auto record = executor_.run(configuration_, repetition);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

Status OutputRun::clear() {
  return options_.keep ? Status() : executor_.remove_files(configuration_);
}

ordered_json OutputRun::figures(const JobFacts& facts, bool counted) {
  bytes_verified_ += record_.bytes_verified;
  events_.insert(events_.end(), record_.events.begin(), record_.events.end());
  const std::vector<Event> apart = without_overlap(record_.events);
  std::vector<PhaseFigures> all;
  ordered_json phases = ordered_json::array();
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    KindFigures& one = kinds_[i];
    const PhaseKey key{one.kind.function, Direction::write};
    all.push_back(phase_figures(facts.job, key, apart, facts.offset));
    const PhaseFigures& found = all.back();
    const bool durable = facts.core.durability != storage::Durability::none;
    const CacheState cache = judge_cache(facts, found, {.durable = durable});
    const NodePhase node = node_phase(facts.job, key, apart);
    const std::array<double, 1> mine{seconds_of(record_.stager_wait_ns[i])};
    const std::vector<Spread> waited = spread_over_ranks(facts.job, mine);
    if (counted) {
      LatencyHistogram latencies;
      record_latencies(key, record_.events, latencies);
      activities_[i].add(facts.job, latencies, share_of(node));
      compare_clocks_over(found.span_seconds / static_cast<double>(one.kind.files));
    }
    if (facts.job.rank != 0) continue;
    phases.push_back(phase_json(found, one.kind.name, cache, facts.hosts));
    if (!counted) continue;
    one.observed.add(found.rate_foreground);
    one.storage.add(found.rate_span);
    if (!configuration_.variant.is_staged()) continue;
    one.stager_wait.add(waited.front().max);
    if (found.span_seconds > 0) {
      one.hidden.push_back(std::max(0.0, 1 - found.foreground_seconds.max / found.span_seconds));
    }
  }
  const std::array<double, 1> work{seconds_of(record_.work_ns)};
  const std::vector<Spread> worked = spread_over_ranks(facts.job, work);
  if (counted && facts.job.rank == 0) {
    rates_.add(direction_rates(all, Direction::write));
    work_.add(worked.front().max);
  }
  return {{"phases", std::move(phases)}};
}

void OutputRun::put_series(const RepetitionPolicy& policy) {
  run()["rates"] = rates_.to_json({{"direction", bench::name_of(Direction::write)}}, policy);
  ordered_json streams = ordered_json::array();
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const KindFigures& one = kinds_[i];
    streams.push_back(
        {{"stream", one.kind.name},
         {"files", one.kind.files},
         {"bytes_per_file", bytes_of_file(content_, i, configuration_.variant.api->can.netcdf)},
         {"observed", one.observed.to_json(policy)},
         {"storage", one.storage.to_json(policy)},
         {"hidden_fraction",
          one.hidden.empty() ? ordered_json() : ordered_json(one.hidden_median())},
         {"stager_wait",
          one.stager_wait.empty() ? ordered_json() : one.stager_wait.to_json(policy)}});
  }
  ordered_json& outputs = run()["outputs"];
  outputs = content_.facts();
  outputs["staged"] = configuration_.variant.is_staged();
  outputs["work_requested_seconds"] =
      options_.work_seconds * static_cast<double>(steps_of(content_.kinds()));
  outputs["work"] = work_.to_json(policy);
  outputs["streams"] = std::move(streams);
}

bool OutputRun::converged(const RepetitionPolicy& policy) const {
  return rates_.headline().converged(policy);
}

std::string OutputRun::how_verified() const {
  return fmt::format(
      "every file is read back by the ranks{}, and every element compared, outside the timed part; "
      "elements of variables are a function of seed, repetition, file, variable and global index",
      content_.redivides() ? ", divided among them anew" : " that wrote it");
}

std::string table(const Content& content, const std::vector<const OutputRun*>& runs) {
  std::string text = content.headline() + "\n";
  text += fmt::format("{:<30} {:<11} {:>16} {:>16} {:>8} {:>14}\n", "MiB/s", "", "observed",
                      "storage", "hidden", "stager wait ms");
  for (const OutputRun* run : runs) {
    for (const OutputRun::KindFigures& one : run->kinds()) {
      text += fmt::format(
          "{:<30} {:<11} {:>16.1f} {:>16.1f} {:>8} {:>14}\n", run->label(), one.kind.name,
          one.observed.median() / mebibyte, one.storage.median() / mebibyte,
          one.hidden.empty() ? std::string("-")
                             : fmt::format("{:.0f} %", 100 * one.hidden_median()),
          one.stager_wait.empty() ? std::string("-")
                                  : fmt::format("{:.2f}", 1e3 * one.stager_wait.median()));
    }
  }
  return text;
}

}  // namespace weir::bench::output
