#include "workloads/madbench/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "workloads/madbench/plan.hpp"

namespace weir::bench::madbench {
namespace {

using nlohmann::ordered_json;

const char* function_of(const PhaseKey& key) {
  return name_of(static_cast<Function>(key.function));
}

// Combines the observations of all ranks. Collective.
CacheObservations observe_cache(const JobFacts& facts, const PhaseFigures& figures,
                                const RepetitionRecord& record) {
  const bool reading = figures.key.direction == Direction::read;
  // Device bytes, leaders, leaders that know them, sum of resident fractions, reads.
  std::array<double, 5> mine{};
  for (const FunctionCost& cost : record.functions) {
    if (static_cast<std::int8_t>(cost.function) != figures.key.function) continue;
    mine = {static_cast<double>(reading ? cost.device_bytes_read : cost.device_bytes_written),
            facts.job.node_rank == 0 ? 1.0 : 0.0, cost.device_known ? 1.0 : 0.0, cost.resident_sum,
            static_cast<double>(cost.resident_count)};
  }
  const std::vector<double> sums = sum_over_ranks(facts.job, mine);
  CacheObservations seen;
  seen.direction = figures.key.direction;
  seen.bytes = figures.bytes;
  seen.file_system = facts.file_system;
  seen.direct_io = facts.core.direct;
  seen.durable_sync = !reading && facts.core.durability != storage::Durability::none;
  if (reading && sums[4] > 0) seen.resident_fraction_before = sums[3] / sums[4];
  if (sums[1] > 0 && sums[1] == sums[2]) {
    seen.device_bytes = static_cast<std::int64_t>(sums[0]);
  }
  if (figures.rate_slowest_rank > 0) seen.rate_bytes_per_second = figures.rate_slowest_rank;
  if (facts.memory_rate > 0) seen.memory_rate_bytes_per_second = facts.memory_rate;
  return seen;
}

double median_foreground(const std::vector<DirectionRates>& rates) {
  std::vector<double> values;
  values.reserve(rates.size());
  for (const DirectionRates& rate : rates) values.push_back(rate.foreground);
  return values.empty() ? 0 : median_interval(values).median;
}

}  // namespace

MadbenchRun::MadbenchRun(Configuration configuration, Executor& executor, ordered_json run)
    : configuration_(std::move(configuration)),
      executor_(executor),
      run_(std::move(run)),
      shortest_operation_(std::numeric_limits<double>::infinity()) {
  for (const PhaseKey& key : phases_of(configuration_.variant)) phases_.emplace_back(key);
}

Status MadbenchRun::repeat(std::int32_t repetition) {
  auto record = executor_.run(configuration_, repetition);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

void MadbenchRun::add(const JobFacts& facts, const RepetitionPlace& place) {
  ++repetitions_;
  bytes_verified_ += record_.bytes_verified;
  events_.insert(events_.end(), record_.events.begin(), record_.events.end());
  ordered_json phases = add_phases(facts, place.counted);
  ordered_json functions = add_functions(facts);
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
  entry["functions"] = std::move(functions);
  if (place.counted) seconds_.push_back(seconds);
  run_["repetitions"].push_back(std::move(entry));
  const Work& work = executor_.work();
  if (ordered_json spectrum = work.spectrum(); !spectrum.is_null()) {
    run_["spectrum"] = std::move(spectrum);
  }
  if (facts.core.verify && *work.how_verified() != '\0') {
    run_["verification"]["how"] = work.how_verified();
  }
}

void MadbenchRun::put_rates(const RepetitionPolicy& policy) {
  const std::vector<bool> outlying = outliers(seconds_);
  std::size_t counted = 0;
  for (ordered_json& repetition : run_["repetitions"]) {
    if (!repetition["warmup"].get<bool>()) repetition["outlier"] = bool{outlying[counted++]};
  }
  run_["rates"] = ordered_json::array();
  const char* headline = asynchronous() ? "foreground" : "span";
  for (const auto& [direction, rates] :
       {std::pair{Direction::write, &write_rates_}, std::pair{Direction::read, &read_rates_}}) {
    if (rates->empty()) continue;
    for (ordered_json& rate : rates_json(direction, *rates, headline, policy)) {
      run_["rates"].push_back(std::move(rate));
    }
  }
}

ordered_json MadbenchRun::add_phases(const JobFacts& facts, bool counted) {
  const Job& job = facts.job;
  std::vector<PhaseFigures> all;
  ordered_json phases = ordered_json::array();
  for (PhaseHistory& history : phases_) {
    const PhaseFigures figures = phase_figures(job, history.key, record_.events, facts.offset);
    const CacheState cache = judge_cache(observe_cache(facts, figures, record_));
    const NodePhase node = node_phase(job, history.key, record_.events);
    if (counted) record_latencies(history.key, record_.events, history.latencies);
    if (counted && job.node_rank == 0) {
      history.node_bytes = node.bytes;
      history.node_io_seconds_max = std::max(history.node_io_seconds_max, node.io_seconds_max);
      history.node_rates.push_back(
          node.io_seconds_max > 0 ? static_cast<double>(node.bytes) / node.io_seconds_max : 0);
    }
    all.push_back(figures);
    if (counted && figures.rate_span > 0) {
      const double per_rank = static_cast<double>(figures.operations) / job.size;
      shortest_operation_ = std::min(shortest_operation_, figures.span_seconds / per_rank);
    }
    if (job.rank == 0) {
      phases.push_back(phase_json(figures, function_of(history.key), cache, facts.hosts));
    }
  }
  if (counted && job.rank == 0 && !all.empty()) {
    write_rates_.push_back(direction_rates(all, Direction::write));
    read_rates_.push_back(direction_rates(all, Direction::read));
  }
  return phases;
}

ordered_json MadbenchRun::add_functions(const JobFacts& facts) {
  std::vector<FunctionTimes> table;
  ordered_json functions = ordered_json::array();
  for (const FunctionCost& cost : record_.functions) {
    const double busy = seconds_of(cost.busy_work_ns);
    const double read = seconds_of(cost.read_ns);
    const double write = seconds_of(cost.write_ns);
    const double total = seconds_of(cost.total_ns);
    const std::array<double, 6> mine{std::max(total - busy - read - write, 0.0),
                                     busy,
                                     read,
                                     write,
                                     total,
                                     seconds_of(cost.payload_ns)};
    const std::vector<Spread> spreads = spread_over_ranks(facts.job, mine);
    if (facts.job.rank != 0) continue;
    table.push_back(
        {cost.function, spreads[0], spreads[1], spreads[2], spreads[3], spreads[4], spreads[5]});
    functions.push_back({{"function", name_of(cost.function)},
                         {"communication_seconds", spread_json(spreads[0], facts.hosts)},
                         {"busy_work_seconds", spread_json(spreads[1], facts.hosts)},
                         {"read_seconds", spread_json(spreads[2], facts.hosts)},
                         {"write_seconds", spread_json(spreads[3], facts.hosts)},
                         {"total_seconds", spread_json(spreads[4], facts.hosts)},
                         {"payload_seconds", spread_json(spreads[5], facts.hosts)}});
  }
  if (facts.job.rank == 0) tables_.push_back(std::move(table));
  return functions;
}

int MadbenchRun::least(const RepetitionPolicy& policy) const {
  return executor_.work().wants_more() ? 1 : policy.minimum;
}

bool MadbenchRun::settled(const RepetitionPolicy& policy) const {
  if (const auto wants_more = executor_.work().wants_more()) return !*wants_more && counted() >= 1;
  if (counted() >= policy.maximum) return true;
  for (const auto* rates : {&write_rates_, &read_rates_}) {
    std::vector<double> headline;
    for (const DirectionRates& rate : *rates) {
      headline.push_back(asynchronous() ? rate.foreground : rate.span);
    }
    if (!headline.empty() && !converged(policy, headline)) return false;
  }
  return counted() >= policy.minimum;
}

const std::vector<FunctionTimes>& MadbenchRun::median_times() const {
  std::vector<std::size_t> order(seconds_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return seconds_[a] < seconds_[b]; });
  // `tables_` begins with the warm-ups.
  const std::size_t warmups = tables_.size() - seconds_.size();
  return tables_[warmups + order[(order.size() - 1) / 2]];
}

ordered_json MadbenchRun::nodes_json(std::span<const NodeReport> nodes) const {
  ordered_json all = ordered_json::array();
  for (const NodeReport& node : nodes) {
    ordered_json entry = {
        {"host", node.host}, {"ranks", node.ranks}, {"phases", ordered_json::array()}};
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      const PhaseKey& key = phases_[i].key;
      const double rate = node.figures[3 * i + 2];
      entry["phases"].push_back(
          {{"function", function_of(key)},
           {"direction", bench::name_of(key.direction)},
           {"bytes", static_cast<std::int64_t>(node.figures[3 * i])},
           {"io_seconds_max", node.figures[3 * i + 1]},
           {"rate_bytes_per_second", rate > 0 ? ordered_json(rate) : nullptr}});
    }
    all.push_back(std::move(entry));
  }
  return all;
}

// Returns the EAAR together with the synchronous rate and its NBIN multiple (Borrill et al.,
// section 5 and figure 7).
ordered_json MadbenchRun::effective_json() const {
  const std::int64_t bins = configuration_.layout.matrices(GangLevel::all_ranks);
  ordered_json effective = ordered_json::array();
  if (!asynchronous()) return effective;
  for (const auto direction : {Direction::write, Direction::read}) {
    const auto rates =
        direction == Direction::write ? &MadbenchRun::write_rates_ : &MadbenchRun::read_rates_;
    ordered_json entry = {{"direction", bench::name_of(direction)},
                          {"eaar_bytes_per_second", median_foreground(this->*rates)},
                          {"synchronous_bytes_per_second", nullptr},
                          {"synchronous_run_id", nullptr},
                          {"bins", bins},
                          {"nbin_multiple_bytes_per_second", nullptr}};
    if (sibling_ != nullptr) {
      const double synchronous = median_foreground(sibling_->*rates);
      entry["synchronous_bytes_per_second"] = synchronous;
      entry["synchronous_run_id"] = sibling_->run_["id"];
      entry["nbin_multiple_bytes_per_second"] = synchronous * static_cast<double>(bins);
    }
    effective.push_back(std::move(entry));
  }
  return effective;
}

void MadbenchRun::finish(const JobFacts& facts, const ordered_json& environment,
                         const ordered_json& clocks) {
  const Job& job = facts.job;
  ordered_json histograms = ordered_json::array();
  std::vector<double> node_figures;
  for (const PhaseHistory& phase : phases_) {
    const LatencyHistogram merged = merge_over_ranks(job, phase.latencies);
    if (job.rank == 0) {
      histograms.push_back(histogram_json(phase.key, function_of(phase.key), merged));
    }
    node_figures.push_back(static_cast<double>(phase.node_bytes));
    node_figures.push_back(phase.node_io_seconds_max);
    node_figures.push_back(phase.node_rates.empty() ? 0 : median_interval(phase.node_rates).median);
  }
  const std::vector<NodeReport> nodes = gather_nodes(job, node_figures);
  const std::array<double, 1> verified{static_cast<double>(bytes_verified_)};
  const std::vector<double> verified_sum = sum_over_ranks(job, verified);
  if (job.rank != 0) return;

  put_rates(facts.core.repetitions);
  run_["effective"] = effective_json();
  run_["histograms"] = std::move(histograms);
  run_["nodes"] = nodes_json(nodes);
  run_["verification"]["bytes_verified"] = static_cast<std::int64_t>(verified_sum[0]);
  run_["clocks"] = clocks;
  run_["environment"] = environment;
  if (std::string warning = executor_.work().warning(); !warning.empty()) {
    run_["warnings"].push_back(std::move(warning));
  }
  if (clocks["flagged"].get<bool>()) {
    run_["warnings"].push_back(fmt::format(
        "the clocks of different ranks agree to {:.3g} ms only, {:.1f} % of the shortest "
        "operation: rates by span are that uncertain",
        clocks["error_bound_ns"].get<double>() * 1e-6,
        clocks["error_fraction_of_span"].get<double>() * 100));
  }
  run_["status"] = "complete";
  run_["finished_utc"] = utc_now();
}

}  // namespace weir::bench::madbench
