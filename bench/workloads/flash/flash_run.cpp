#include "workloads/flash/flash_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/repetition.hpp"
#include "measurement/result.hpp"

namespace weir::bench::flash {
namespace {

using nlohmann::ordered_json;

constexpr double mebibyte = 1048576;

PhaseKey key_of(Stream stream) { return {function_of(stream), Direction::write}; }

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

double FlashRun::StreamFigures::hidden_median() const {
  return hidden.empty() ? 0 : median_interval(hidden).median;
}

FlashRun::FlashRun(Configuration configuration, const Options& options, Executor& executor,
                   ordered_json run)
    : SweptRun(configuration.variant.label(), configuration.variant.slug(), std::move(run)),
      configuration_(std::move(configuration)),
      options_(options),
      executor_(executor) {
  for (const Stream stream : all_streams) {
    if (files_of(stream, options_) == 0) continue;
    activities_.emplace_back(name_of(stream), Direction::write);
    streams_.push_back({.stream = stream});
  }
}

Status FlashRun::repeat(std::int32_t repetition) {
  auto record = executor_.run(configuration_, repetition);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

Status FlashRun::clear() {
  return options_.keep ? Status() : executor_.remove_files(configuration_);
}

ordered_json FlashRun::figures(const JobFacts& facts, bool counted) {
  bytes_verified_ += record_.bytes_verified;
  events_.insert(events_.end(), record_.events.begin(), record_.events.end());
  const std::vector<Event> apart = without_overlap(record_.events);
  std::vector<PhaseFigures> all;
  ordered_json phases = ordered_json::array();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    StreamFigures& stream = streams_[i];
    const PhaseKey key = key_of(stream.stream);
    all.push_back(phase_figures(facts.job, key, apart, facts.offset));
    const PhaseFigures& found = all.back();
    const bool durable = facts.core.durability != storage::Durability::none;
    const CacheState cache = judge_cache(facts, found, {.durable = durable});
    const NodePhase node = node_phase(facts.job, key, apart);
    if (counted) {
      LatencyHistogram latencies;
      record_latencies(key, record_.events, latencies);
      activities_[i].add(facts.job, latencies, share_of(node));
      compare_clocks_over(found.span_seconds /
                          static_cast<double>(files_of(stream.stream, options_)));
    }
    if (facts.job.rank != 0) continue;
    phases.push_back(phase_json(found, name_of(stream.stream), cache, facts.hosts));
    if (!counted) continue;
    stream.observed.add(found.rate_foreground);
    stream.storage.add(found.rate_span);
    if (configuration_.variant.staged && found.span_seconds > 0) {
      stream.hidden.push_back(std::max(0.0, 1 - found.foreground_seconds.max / found.span_seconds));
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

void FlashRun::put_series(const RepetitionPolicy& policy) {
  run()["rates"] = rates_.to_json({{"direction", bench::name_of(Direction::write)}}, policy);
  ordered_json streams = ordered_json::array();
  for (const StreamFigures& one : streams_) {
    streams.push_back(
        {{"stream", name_of(one.stream)},
         {"files", files_of(one.stream, options_)},
         {"bytes_per_file", bytes_of_file(one.stream, options_, executor_.deal().blocks(),
                                          configuration_.variant.api->can.netcdf)},
         {"observed", one.observed.to_json(policy)},
         {"storage", one.storage.to_json(policy)},
         {"hidden_fraction",
          one.hidden.empty() ? ordered_json() : ordered_json(one.hidden_median())}});
  }
  run()["outputs"] = {
      {"blocks", executor_.deal().blocks()},
      {"least_blocks_per_rank", executor_.deal().least()},
      {"most_blocks_per_rank", executor_.deal().most()},
      {"staged", configuration_.variant.staged},
      {"work_requested_seconds",
       options_.work_seconds * static_cast<double>(std::max(options_.checkpoints, options_.plots))},
      {"work", work_.to_json(policy)},
      {"streams", std::move(streams)}};
}

bool FlashRun::converged(const RepetitionPolicy& policy) const {
  return rates_.headline().converged(policy);
}

std::string FlashRun::how_verified() const {
  return "every file is read back by the ranks that wrote it, and every element compared, outside "
         "the timed part; elements of variables are a function of seed, repetition, file, variable "
         "and global index";
}

std::string table(const Options& options, const Deal& deal,
                  const std::vector<const FlashRun*>& runs) {
  const auto size = [&](Stream stream) {
    return static_cast<double>(bytes_of_file(stream, options, deal.blocks(), false)) / mebibyte;
  };
  std::string text = fmt::format(
      "{} blocks of {}x{}x{} cells, {} to {} per rank; {} checkpoints of {:.4g} MiB, {} plot files "
      "of {:.4g} MiB\n",
      deal.blocks(), options.nxb, options.nyb, options.nzb, deal.least(), deal.most(),
      options.checkpoints, size(Stream::checkpoint), options.plots, size(Stream::plot));
  text += fmt::format("{:<18} {:<11} {:>16} {:>16} {:>8}\n", "MiB/s", "", "observed", "storage",
                      "hidden");
  for (const FlashRun* run : runs) {
    for (const FlashRun::StreamFigures& one : run->streams()) {
      text += fmt::format("{:<18} {:<11} {:>16.1f} {:>16.1f} {:>8}\n", run->label(),
                          name_of(one.stream), one.observed.median() / mebibyte,
                          one.storage.median() / mebibyte,
                          one.hidden.empty() ? std::string("-")
                                             : fmt::format("{:.0f} %", 100 * one.hidden_median()));
    }
  }
  return text;
}

}  // namespace weir::bench::flash
