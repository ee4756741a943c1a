#include "measurement/phase_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.hpp"

namespace weir::bench {
namespace {

using nlohmann::ordered_json;

const char* function_of(Direction direction) { return bench::name_of(direction); }

// Combines the observations of all ranks. Collective.
CacheObservations observe_cache(const JobFacts& facts, const PhaseFigures& figures,
                                const PhaseRecord& record, bool sync_each) {
  const bool reading = record.direction == Direction::read;
  // Sums over the ranks: device bytes, leaders, leaders that know them, resident shares, ranks with
  // a share.
  const std::array<double, 5> mine{
      static_cast<double>(record.device_bytes), facts.job.node_rank == 0 ? 1.0 : 0.0,
      record.device_known ? 1.0 : 0.0, record.resident_before.value_or(0),
      record.resident_before ? 1.0 : 0.0};
  const std::vector<double> sums = sum_over_ranks(facts.job, mine);
  CacheObservations seen;
  seen.direction = record.direction;
  seen.bytes = figures.bytes;
  seen.file_system = facts.file_system;
  seen.direct_io = facts.core.direct;
  seen.durable_sync = !reading && (facts.core.durability != storage::Durability::none || sync_each);
  if (reading && sums[4] > 0) seen.resident_fraction_before = sums[3] / sums[4];
  if (sums[1] > 0 && sums[1] == sums[2]) {
    seen.device_bytes = static_cast<std::int64_t>(sums[0]);
  }
  if (figures.rate_slowest_rank > 0) seen.rate_bytes_per_second = figures.rate_slowest_rank;
  if (facts.memory_rate > 0) seen.memory_rate_bytes_per_second = facts.memory_rate;
  return seen;
}

ordered_json wall_json(const WallFigures& wall) {
  const double rate = wall.rate();
  return {{"reached", wall.reached},
          {"seconds", wall.seconds},
          {"bytes", wall.bytes},
          {"rate_bytes_per_second", rate > 0 ? ordered_json(rate) : nullptr},
          {"operations_least", wall.operations_least},
          {"operations_most", wall.operations_most}};
}

// Returns the ranks whose files lie in a directory. The distribution is round-robin.
std::vector<std::int64_t> ranks_of(std::size_t directory, std::size_t directories,
                                   std::int64_t ranks) {
  std::vector<std::int64_t> mine;
  for (auto rank = static_cast<std::int64_t>(directory); rank < ranks;
       rank += static_cast<std::int64_t>(directories)) {
    mine.push_back(rank);
  }
  return mine;
}

}  // namespace

PhaseResults::PhaseResults(ResultSubject subject, ordered_json run)
    : subject_(std::move(subject)),
      run_(std::move(run)),
      shortest_span_(std::numeric_limits<double>::infinity()) {
  if (subject_.write) phases_.emplace_back(Direction::write);
  if (subject_.read) phases_.emplace_back(Direction::read);
}

void PhaseResults::add(const JobFacts& facts, const RepetitionRecord& record,
                       const RepetitionPlace& place) {
  ++repetitions_;
  bytes_verified_ += record.bytes_verified;
  events_.insert(events_.end(), record.events.begin(), record.events.end());
  ordered_json phases = ordered_json::array();
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    add_phase(facts, record.phases[i], place, phases_[i], phases);
  }
  if (facts.job.rank != 0) return;
  const double seconds = seconds_of(place.ended_ns - place.started_ns);
  ordered_json entry;
  entry["index"] = place.index;
  entry["warmup"] = !place.counted;
  entry["outlier"] = false;  // put_rates() marks the outliers
  entry["started_seconds"] = seconds_of(place.started_ns + facts.offset.offset_ns - facts.epoch_ns);
  entry["seconds"] = seconds;
  entry["order"] = place.order;
  entry["phases"] = std::move(phases);
  entry["functions"] = ordered_json::array();
  if (place.counted) seconds_.push_back(seconds);
  run_["repetitions"].push_back(std::move(entry));
}

void PhaseResults::put_rates(const RepetitionPolicy& policy) {
  const std::vector<bool> outlying = outliers(seconds_);
  std::size_t number = 0;
  for (ordered_json& repetition : run_["repetitions"]) {
    if (!repetition["warmup"].get<bool>()) repetition["outlier"] = bool{outlying[number++]};
  }
  run_["rates"] = ordered_json::array();
  for (const PhaseHistory& phase : phases_) {
    if (phase.rates.empty()) continue;
    for (ordered_json& rate : rates_json(phase.direction, phase.rates, "span", policy)) {
      run_["rates"].push_back(std::move(rate));
    }
  }
}

void PhaseResults::add_phase(const JobFacts& facts, const PhaseRecord& record,
                             const RepetitionPlace& place, PhaseHistory& history,
                             ordered_json& phases) {
  const Job& job = facts.job;
  trace_step_ = std::max(trace_step_, record.trace_step);
  const RecordFigures figures = record_figures(job, record, facts.offset);
  const CacheState cache =
      judge_cache(observe_cache(facts, figures.phase, record, subject_.sync_each));
  const NodePhase node = node_figures(job, record);
  const std::size_t targets = subject_.directories.size();
  const auto by_target =
      target_figures(job, record, static_cast<std::size_t>(job.rank) % targets, targets);
  if (place.counted) {
    history.latencies.merge(record.latencies);
    if (job.node_rank == 0) {
      history.node_bytes = node.bytes;
      history.node_io_seconds_max = std::max(history.node_io_seconds_max, node.io_seconds_max);
      history.node_rates.push_back(
          node.io_seconds_max > 0 ? static_cast<double>(node.bytes) / node.io_seconds_max : 0);
    }
  }
  if (job.rank != 0) return;
  ordered_json phase =
      bench::phase_json(figures.phase, function_of(record.direction), cache, facts.hosts);
  phase["open_seconds"] = spread_json(figures.open_seconds, facts.hosts);
  phase["close_seconds"] = spread_json(figures.close_seconds, facts.hosts);
  phase["total_seconds"] = figures.total_seconds;
  if (subject_.stonewalled) phase["stonewall"] = wall_json(figures.wall);
  phases.push_back(std::move(phase));
  warn_of_outlier(facts, figures, place.index);
  if (!place.counted) return;
  const std::array<PhaseFigures, 1> one{figures.phase};
  history.rates.push_back(direction_rates(one, record.direction));
  history.targets.resize(targets);
  history.target_rates.resize(targets);
  for (std::size_t i = 0; i < targets; ++i) {
    const TargetFigures& found = by_target[i];
    history.targets[i].bytes = found.bytes;
    history.targets[i].io_seconds_max =
        std::max(history.targets[i].io_seconds_max, found.io_seconds_max);
    history.target_rates[i].push_back(
        found.io_seconds_max > 0 ? static_cast<double>(found.bytes) / found.io_seconds_max : 0);
  }
  if (figures.phase.span_seconds > 0) {
    shortest_span_ = std::min(shortest_span_, figures.phase.span_seconds);
  }
  counted_phases_.push_back({record.direction, counted(), figures});
}

void PhaseResults::warn_of_outlier(const JobFacts& facts, const RecordFigures& figures,
                                   int repetition) {
  const Spread& io = figures.phase.io_seconds;
  if (subject_.outlier_seconds <= 0 || io.max - io.mean <= subject_.outlier_seconds) {
    return;
  }
  run_["warnings"].push_back(fmt::format(
      "repetition {}, {}: rank {} on {} spent {:.3f} s in I/O, the mean of all is {:.3f} s",
      repetition, function_of(figures.phase.key.direction), io.max_rank,
      facts.hosts.host_of(io.max_rank), io.max, io.mean));
}

bool PhaseResults::settled(const RepetitionPolicy& policy) const {
  for (const PhaseHistory& phase : phases_) {
    std::vector<double> headline;
    headline.reserve(phase.rates.size());
    for (const DirectionRates& rate : phase.rates) headline.push_back(rate.span);
    if (!headline.empty() && !converged(policy, headline)) return false;
  }
  return counted() >= policy.minimum;
}

ordered_json PhaseResults::nodes_json(std::span<const NodeReport> nodes) const {
  ordered_json all = ordered_json::array();
  for (const NodeReport& node : nodes) {
    ordered_json entry = {
        {"host", node.host}, {"ranks", node.ranks}, {"phases", ordered_json::array()}};
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      const double rate = node.figures[3 * i + 2];
      entry["phases"].push_back(
          {{"function", function_of(phases_[i].direction)},
           {"direction", bench::name_of(phases_[i].direction)},
           {"bytes", static_cast<std::int64_t>(node.figures[3 * i])},
           {"io_seconds_max", node.figures[3 * i + 1]},
           {"rate_bytes_per_second", rate > 0 ? ordered_json(rate) : nullptr}});
    }
    all.push_back(std::move(entry));
  }
  return all;
}

ordered_json PhaseResults::targets_json(std::int64_t ranks) const {
  ordered_json all = ordered_json::array();
  const std::vector<std::string>& directories = subject_.directories;
  if (directories.size() < 2) return all;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    ordered_json entry = {{"directory", directories[i]},
                          {"ranks", ranks_of(i, directories.size(), ranks)},
                          {"phases", ordered_json::array()}};
    for (const PhaseHistory& phase : phases_) {
      if (phase.targets.empty()) continue;
      const double rate = median_interval(phase.target_rates[i]).median;
      entry["phases"].push_back(
          {{"function", function_of(phase.direction)},
           {"direction", bench::name_of(phase.direction)},
           {"bytes", phase.targets[i].bytes},
           {"io_seconds_max", phase.targets[i].io_seconds_max},
           {"rate_bytes_per_second", rate > 0 ? ordered_json(rate) : nullptr}});
    }
    all.push_back(std::move(entry));
  }
  return all;
}

std::vector<double> PhaseResults::span_rates(Direction direction) const {
  std::vector<double> rates;
  for (const PhaseHistory& phase : phases_) {
    if (phase.direction != direction) continue;
    for (const DirectionRates& one : phase.rates) rates.push_back(one.span);
  }
  return rates;
}

void PhaseResults::say_how_verified(const JobFacts& facts, std::int64_t bytes) {
  ordered_json& verification = run_["verification"];
  verification["bytes_verified"] = bytes;
  if (facts.core.verify && !subject_.how_verified.empty()) {
    verification["how"] = subject_.how_verified;
  }
}

void PhaseResults::finish(const JobFacts& facts, const ordered_json& environment,
                          const ordered_json& clocks) {
  const Job& job = facts.job;
  ordered_json histograms = ordered_json::array();
  std::vector<double> node_numbers;
  for (const PhaseHistory& phase : phases_) {
    const LatencyHistogram merged = merge_over_ranks(job, phase.latencies);
    if (job.rank == 0) {
      const bool reading = phase.direction == Direction::read;
      histograms.push_back(
          histogram_json({reading ? function_read : function_write, phase.direction},
                         function_of(phase.direction), merged));
    }
    node_numbers.push_back(static_cast<double>(phase.node_bytes));
    node_numbers.push_back(phase.node_io_seconds_max);
    node_numbers.push_back(phase.node_rates.empty() ? 0 : median_interval(phase.node_rates).median);
  }
  const std::vector<NodeReport> nodes = gather_nodes(job, node_numbers);
  const std::array<double, 1> verified{static_cast<double>(bytes_verified_)};
  const std::vector<double> verified_sum = sum_over_ranks(job, verified);
  std::int64_t trace_step = trace_step_;
  MPI_Reduce(&trace_step_, &trace_step, 1, MPI_INT64_T, MPI_MAX, 0, job.world);
  if (job.rank != 0) return;

  put_rates(facts.core.repetitions);
  run_["histograms"] = std::move(histograms);
  run_["nodes"] = nodes_json(nodes);
  run_["targets"] = targets_json(job.size);
  say_how_verified(facts, static_cast<std::int64_t>(verified_sum[0]));
  run_["clocks"] = clocks;
  run_["environment"] = environment;
  if (!subject_.traced) {
    run_["warnings"].push_back(
        "the trace is switched off (--trace-events 0); all other figures are of every operation");
  } else if (trace_step > 1) {
    run_["warnings"].push_back(fmt::format(
        "the trace has every {}th operation (--trace-events); all other figures, the latencies "
        "among them, are of every one",
        trace_step));
  }
  if (clocks["flagged"].get<bool>()) {
    run_["warnings"].push_back(fmt::format(
        "the clocks of different ranks agree to {:.3g} ms only, {:.1f} % of the shortest phase: "
        "rates by span are that uncertain",
        clocks["error_bound_ns"].get<double>() * 1e-6,
        clocks["error_fraction_of_span"].get<double>() * 100));
  }
  run_["status"] = "complete";
  run_["finished_utc"] = utc_now();
}

}  // namespace weir::bench
