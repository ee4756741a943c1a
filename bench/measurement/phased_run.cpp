#include "measurement/phased_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.hpp"

namespace weir::bench {
namespace {

using nlohmann::ordered_json;

ordered_json wall_json(const WallFigures& wall) {
  return {{"reached", wall.reached},
          {"seconds", wall.seconds},
          {"bytes", wall.bytes},
          {"rate_bytes_per_second", rate_or_null(wall.rate())},
          {"operations_least", wall.operations_least},
          {"operations_most", wall.operations_most}};
}

}  // namespace

PhasedRun::PhasedRun(std::string label, std::string slug, ResultSubject subject, ordered_json run)
    : SweptRun(std::move(label), std::move(slug), std::move(run)),
      subject_(std::move(subject)),
      targets_(subject_.directories) {
  for (const Direction direction : {Direction::write, Direction::read}) {
    if (!(direction == Direction::write ? subject_.write : subject_.read)) continue;
    activities_.emplace_back(name_of(direction), direction);
    phases_.push_back({.direction = direction});
    targets_.add_phase(name_of(direction), direction);
  }
}

ordered_json PhasedRun::figures(const JobFacts& facts, bool counted) {
  bytes_verified_ += record_.bytes_verified;
  events_.insert(events_.end(), record_.events.begin(), record_.events.end());
  ordered_json phases = ordered_json::array();
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    phases.push_back(phase_figures(facts, i, counted));
  }
  return {{"phases", std::move(phases)}};
}

ordered_json PhasedRun::phase_figures(const JobFacts& facts, std::size_t phase, bool counted) {
  const Job& job = facts.job;
  const PhaseRecord& record = record_.phases[phase];
  PhaseHistory& history = phases_[phase];
  trace_step_ = std::max(trace_step_, record.trace_step);
  const RecordFigures found = record_figures(job, record, facts.offset);
  const CacheState cache = judge_cache(
      facts, found.phase,
      {.device_bytes = record.device_bytes,
       .device_known = record.device_known,
       .resident_sum = record.resident_before.value_or(0),
       .resident_count = record.resident_before ? 1 : 0,
       .durable = facts.core.durability != storage::Durability::none || subject_.sync_each});
  const NodePhase node = node_figures(job, record);
  const std::size_t targets = targets_.directories();
  const auto by_target = target_figures(job, {record.bytes, seconds_of(record.io_ns)},
                                        static_cast<std::size_t>(job.rank) % targets, targets);
  if (counted) activities_[phase].add(job, record.latencies, share_of(node));
  if (job.rank != 0) return nullptr;
  ordered_json json = phase_json(found.phase, name_of(record.direction), cache, facts.hosts);
  json["open_seconds"] = spread_json(found.open_seconds, facts.hosts);
  json["close_seconds"] = spread_json(found.close_seconds, facts.hosts);
  json["total_seconds"] = found.total_seconds;
  if (subject_.stonewalled) json["stonewall"] = wall_json(found.wall);
  warn_of_outlier(facts, found);
  if (!counted) return json;
  history.rates.add(direction_rates(std::span(&found.phase, 1), record.direction));
  targets_.add(phase, by_target);
  compare_clocks_over(found.phase.span_seconds);
  counted_phases_.push_back({record.direction, SweptRun::counted(), found, cache.verdict});
  return json;
}

void PhasedRun::put_series(const RepetitionPolicy& policy) {
  run()["rates"] = ordered_json::array();
  for (const PhaseHistory& phase : phases_) {
    for (ordered_json& rate :
         phase.rates.to_json({{"direction", name_of(phase.direction)}}, policy)) {
      run()["rates"].push_back(std::move(rate));
    }
  }
}

void PhasedRun::warn_of_outlier(const JobFacts& facts, const RecordFigures& figures) {
  const Spread& io = figures.phase.io_seconds;
  if (subject_.outlier_seconds <= 0 || io.max - io.mean <= subject_.outlier_seconds) {
    return;
  }
  run()["warnings"].push_back(fmt::format(
      "repetition {}, {}: rank {} on {} spent {:.3f} s in I/O, the mean of all is {:.3f} s",
      repetitions() - 1, name_of(figures.phase.key.direction), io.max_rank,
      facts.hosts.host_of(io.max_rank), io.max, io.mean));
}

bool PhasedRun::converged(const RepetitionPolicy& policy) const {
  return std::ranges::all_of(
      phases_, [&](const PhaseHistory& phase) { return phase.rates.headline().converged(policy); });
}

std::vector<double> PhasedRun::span_rates(Direction direction) const {
  for (const PhaseHistory& phase : phases_) {
    if (phase.direction == direction) return phase.rates.of("span").values();
  }
  return {};
}

void PhasedRun::put_last(const JobFacts& facts) {
  std::int64_t trace_step = trace_step_;
  MPI_Reduce(&trace_step_, &trace_step, 1, MPI_INT64_T, MPI_MAX, 0, facts.job.world);
  if (facts.job.rank != 0) return;
  run()["targets"] = targets_.to_json(facts.job.size);
  if (!subject_.traced) {
    run()["warnings"].push_back(
        "the trace is off (--trace-events 0); all other figures include every operation");
  } else if (trace_step > 1) {
    run()["warnings"].push_back(
        fmt::format("the trace has every {}th operation (--trace-events); all other figures, "
                    "including latencies, include every operation",
                    trace_step));
  }
}

}  // namespace weir::bench
