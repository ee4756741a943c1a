#include "workloads/madbench/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/environment.hpp"
#include "measurement/memory_rate.hpp"
#include "measurement/quiet.hpp"
#include "workloads/madbench/plan.hpp"

namespace weir::bench::madbench {
namespace {

using nlohmann::ordered_json;

constexpr double flagged_clock_error = 0.01;  // of the measured span

struct PhaseHistory {
  explicit PhaseHistory(const PhaseKey& what) : key(what) {}

  PhaseKey key;
  LatencyHistogram latencies;      // this rank's, counted repetitions
  std::int64_t node_bytes = 0;     // node leaders: of the last repetition
  std::vector<double> node_rates;  // node leaders: of every counted repetition
  double node_io_seconds_max = 0;  // node leaders: over the counted repetitions
};

}  // namespace

struct Sweep::State {
  explicit State(Configuration what) : configuration(std::move(what)) {}

  Configuration configuration;
  std::vector<PhaseHistory> phases;
  std::vector<Event> events;
  std::int64_t bytes_verified = 0;
  int repetitions = 0;  // warm-ups included
  bool finished = false;
  // On rank 0.
  ordered_json run;
  std::vector<DirectionRates> write_rates;  // counted repetitions
  std::vector<DirectionRates> read_rates;
  std::vector<double> seconds;
  std::vector<std::vector<FunctionTimes>> tables;

  [[nodiscard]] const char* headline_metric() const {
    return configuration.variant.mode == Mode::async ? "foreground" : "span";
  }
};

Sweep::Sweep(SweepInputs inputs, Executor& executor) : in_(std::move(inputs)), executor_(executor) {
  for (std::size_t i = 0; i < in_.variants.size(); ++i) {
    const Variant& variant = in_.variants[i];
    auto state = std::make_unique<State>(
        Configuration{.variant = variant,
                      .layout = Layout::create(in_.size, variant.file_type).value(),
                      .label = label_of(variant),
                      .slug = slug_of(variant),
                      .directory = in_.folders.test_directory,
                      .payload_seed = in_.folders.seed + i});
    for (const PhaseKey& key : phases_of(variant)) state->phases.emplace_back(key);
    if (in_.job.rank == 0) state->run = in_.runs[i];
    states_.push_back(std::move(state));
  }
}

Sweep::~Sweep() = default;

double Sweep::elapsed_seconds() const { return seconds_of(monotonic_ns() - local_start_ns_); }

Status Sweep::run() {
  const Job& job = in_.job;
  const QuietWatch quiet(job);
  const auto offset = estimate_clock_offset(job.world, job.deadline_ns());
  if (!offset) return offset.error();
  offset_ = offset.value();
  hosts_ = HostTable(gather_nodes(job, {}));
  memory_rate_ = memory_copy_rate(job);
  memory_file_system_ = file_system_type(in_.core.directory);
  if (!is_memory_file_system(memory_file_system_)) memory_file_system_.clear();
  local_start_ns_ = monotonic_ns();
  epoch_ns_ = local_start_ns_ + offset_.offset_ns;
  MPI_Bcast(&epoch_ns_, 1, MPI_INT64_T, 0, job.world);

  for (int round = 0;; ++round) {
    if (Status status = run_round(round); !status) return status;
    if (std::all_of(states_.begin(), states_.end(), [](const auto& s) { return s->finished; })) {
      break;
    }
  }

  in_.guard.entering("collecting the results", nullptr, -1);
  const auto quiet_record = quiet.finish(job);
  if (!quiet_record) return quiet_record.error();
  ordered_json environment;
  if (job.rank == 0) {
    environment = describe_environment(in_.core.directory, in_.command, quiet_record.value());
  }
  const auto end = estimate_clock_offset(job.world, job.deadline_ns());
  if (!end) return end.error();
  const ordered_json clocks = clocks_json(end.value());
  for (const auto& state : states_) {
    const auto to_run_time = [&](std::int64_t local_ns) {
      return local_ns + interpolate(offset_, end.value(), local_ns).offset_ns - epoch_ns_;
    };
    Status status = write_events(job, in_.folders.root + "/" + state->configuration.slug,
                                 state->events, to_run_time);
    if (status = agree_on(job, std::move(status), &failed_rank_); !status) return status;
    status = finish_one(*state, environment, clocks);
    if (status = agree_on(job, std::move(status), &failed_rank_); !status) return status;
  }
  in_.guard.left();
  if (job.rank == 0) print_tables();
  return {};
}

Status Sweep::run_round(int round) {
  std::vector<std::size_t> order(states_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The same draw on every rank: seed and round are the same.
  std::mt19937_64 random(in_.folders.seed + static_cast<std::uint64_t>(round));
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t index : order) {
    if (states_[index]->finished) continue;
    if (Status status = run_once(*states_[index], round); !status) return status;
  }
  return {};
}

Status Sweep::run_once(State& state, int round) {
  const bool warmup = round < in_.core.repetitions.warmups;
  report_progress(state, round, warmup);
  const std::int64_t start = monotonic_ns();
  auto record = executor_.run(state.configuration, round);
  const std::int64_t end = monotonic_ns();
  Status status = record ? executor_.remove_files(state.configuration) : record.error();
  if (!status) {
    failed_rank_ = executor_.failed_rank();
    failed_state_ = &state;
    return status;
  }
  in_.guard.entering("collecting the figures of a repetition", nullptr, -1);
  collect(state, record.value(), round, !warmup, start, end);
  decide(state);
  in_.guard.left();
  state.events.insert(state.events.end(), record.value().events.begin(),
                      record.value().events.end());
  ++executed_;
  return {};
}

void Sweep::collect(State& state, const RepetitionRecord& record, int repetition, bool counted,
                    std::int64_t started_ns, std::int64_t ended_ns) {
  ++state.repetitions;
  state.bytes_verified += record.bytes_verified;
  ordered_json phases = collect_phases(state, record, counted);
  ordered_json functions = collect_functions(state, record);
  if (counted) {
    for (PhaseHistory& phase : state.phases) {
      record_latencies(phase.key, record.events, phase.latencies);
    }
  }
  if (in_.job.rank != 0) return;
  ordered_json entry;
  entry["index"] = repetition;
  entry["warmup"] = !counted;
  entry["outlier"] = false;  // known at the end
  entry["started_seconds"] = seconds_of(started_ns + offset_.offset_ns - epoch_ns_);
  entry["seconds"] = seconds_of(ended_ns - started_ns);
  entry["order"] = executed_;
  entry["phases"] = std::move(phases);
  entry["functions"] = std::move(functions);
  if (counted) state.seconds.push_back(seconds_of(ended_ns - started_ns));
  state.run["repetitions"].push_back(std::move(entry));
}

ordered_json Sweep::collect_phases(State& state, const RepetitionRecord& record, bool counted) {
  const Job& job = in_.job;
  std::vector<PhaseFigures> all;
  ordered_json phases = ordered_json::array();
  for (PhaseHistory& history : state.phases) {
    const PhaseFigures figures = phase_figures(job, history.key, record.events, offset_);
    const CacheState cache = judge_cache(observe_cache(figures, record));
    const NodePhase node = node_phase(job, history.key, record.events);
    if (counted && job.node_rank == 0) {
      history.node_bytes = node.bytes;
      history.node_io_seconds_max = std::max(history.node_io_seconds_max, node.io_seconds_max);
      history.node_rates.push_back(
          node.io_seconds_max > 0 ? static_cast<double>(node.bytes) / node.io_seconds_max : 0);
    }
    all.push_back(figures);
    if (job.rank == 0) {
      phases.push_back(
          phase_json(figures, name_of(static_cast<Function>(history.key.function)), cache, hosts_));
    }
  }
  if (counted && job.rank == 0 && !all.empty()) {
    state.write_rates.push_back(direction_rates(all, storage::Direction::write));
    state.read_rates.push_back(direction_rates(all, storage::Direction::read));
  }
  return phases;
}

CacheObservations Sweep::observe_cache(const PhaseFigures& figures,
                                       const RepetitionRecord& record) const {
  const bool reading = figures.key.direction == storage::Direction::read;
  std::array<double, 5> mine{};  // device bytes, leaders, leaders that know, resident sum, reads
  for (const FunctionCost& cost : record.functions) {
    if (static_cast<std::int8_t>(cost.function) != figures.key.function) continue;
    mine = {static_cast<double>(reading ? cost.device_bytes_read : cost.device_bytes_written),
            in_.job.node_rank == 0 ? 1.0 : 0.0, cost.device_known ? 1.0 : 0.0, cost.resident_sum,
            static_cast<double>(cost.resident_count)};
  }
  const std::vector<double> sums = sum_over_ranks(in_.job, mine);
  CacheObservations seen;
  seen.direction = figures.key.direction;
  seen.bytes = figures.bytes;
  seen.memory_file_system = memory_file_system_;
  seen.direct_io = in_.core.direct;
  seen.durable_sync = !reading && in_.core.durability != storage::Durability::none;
  if (reading && sums[4] > 0) seen.resident_fraction_before = sums[3] / sums[4];
  if (sums[1] > 0 && sums[1] == sums[2]) {
    seen.device_bytes = static_cast<std::int64_t>(sums[0]);
  }
  if (figures.rate_slowest_rank > 0) seen.rate_bytes_per_second = figures.rate_slowest_rank;
  if (memory_rate_ > 0) seen.memory_rate_bytes_per_second = memory_rate_;
  return seen;
}

ordered_json Sweep::collect_functions(State& state, const RepetitionRecord& record) {
  std::vector<FunctionTimes> table;
  ordered_json functions = ordered_json::array();
  for (const FunctionCost& cost : record.functions) {
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
    const std::vector<Spread> spreads = spread_over_ranks(in_.job, mine);
    if (in_.job.rank != 0) continue;
    table.push_back(
        {cost.function, spreads[0], spreads[1], spreads[2], spreads[3], spreads[4], spreads[5]});
    functions.push_back({{"function", name_of(cost.function)},
                         {"communication_seconds", spread_json(spreads[0], hosts_)},
                         {"busy_work_seconds", spread_json(spreads[1], hosts_)},
                         {"read_seconds", spread_json(spreads[2], hosts_)},
                         {"write_seconds", spread_json(spreads[3], hosts_)},
                         {"total_seconds", spread_json(spreads[4], hosts_)},
                         {"payload_seconds", spread_json(spreads[5], hosts_)}});
  }
  if (in_.job.rank == 0) state.tables.push_back(std::move(table));
  return functions;
}

void Sweep::decide(State& state) {
  const RepetitionPolicy& policy = in_.core.repetitions;
  int finished = 0;
  if (in_.job.rank == 0) {
    const int counted = static_cast<int>(state.seconds.size());
    bool settled = counted >= policy.minimum;
    for (const auto* rates : {&state.write_rates, &state.read_rates}) {
      std::vector<double> headline;
      for (const DirectionRates& r : *rates) {
        headline.push_back(state.configuration.variant.mode == Mode::async ? r.foreground : r.span);
      }
      if (!headline.empty()) settled = settled && converged(policy, headline);
    }
    const bool out_of_time = counted >= 1 && elapsed_seconds() >= in_.core.time_limit_seconds;
    finished = settled || counted >= policy.maximum || out_of_time ? 1 : 0;
    if (out_of_time && !settled && counted < policy.minimum) {
      state.run["warnings"].push_back(
          fmt::format("--time-limit ended the run after {} of at least {} repetitions", counted,
                      policy.minimum));
    }
  }
  MPI_Bcast(&finished, 1, MPI_INT, 0, in_.job.world);
  state.finished = finished != 0;
}

ordered_json Sweep::clocks_json(const ClockOffset& end) const {
  std::array<std::int64_t, 2> mine{std::max(std::abs(offset_.offset_ns), std::abs(end.offset_ns)),
                                   std::max(offset_.error_bound_ns, end.error_bound_ns)};
  std::array<std::int64_t, 2> largest{};
  MPI_Reduce(mine.data(), largest.data(), 2, MPI_INT64_T, MPI_MAX, 0, in_.job.world);
  if (in_.job.rank != 0) return nullptr;
  // What the clocks are compared for is the span of one operation; the shortest one counts.
  double shortest = seconds_of(monotonic_ns() - local_start_ns_);
  for (const auto& state : states_) {
    for (const ordered_json& repetition : state->run["repetitions"]) {
      for (const ordered_json& phase : repetition["phases"]) {
        const double rate = phase["rate_span_bytes_per_second"].is_null()
                                ? 0.0
                                : phase["rate_span_bytes_per_second"].get<double>();
        if (rate <= 0 || repetition["warmup"].get<bool>()) continue;
        const double per_rank_operations =
            phase["operations"].get<double>() / static_cast<double>(in_.job.size);
        shortest = std::min(shortest, phase["bytes"].get<double>() / rate / per_rank_operations);
      }
    }
  }
  const double fraction = shortest > 0 ? seconds_of(largest[1]) / shortest : 0;
  return {{"source", "CLOCK_MONOTONIC"},
          {"max_offset_ns", largest[0]},
          {"error_bound_ns", largest[1]},
          {"measured_span_ns", static_cast<std::int64_t>(shortest * 1e9)},
          {"error_fraction_of_span", fraction},
          {"flagged", fraction > flagged_clock_error}};
}

// EAAR beside the synchronous rate and its NBIN multiple (Borrill et al., section 5 and figure 7).
ordered_json Sweep::effective_json(const State& state) const {
  ordered_json effective = ordered_json::array();
  const Variant& variant = state.configuration.variant;
  if (variant.mode != Mode::async) return effective;
  const auto sibling = std::find_if(states_.begin(), states_.end(), [&](const auto& other) {
    const Variant& v = other->configuration.variant;
    return v.method == variant.method && v.file_type == variant.file_type && v.mode == Mode::sync;
  });
  const auto median = [](const std::vector<DirectionRates>& rates) {
    std::vector<double> values;
    for (const DirectionRates& rate : rates) values.push_back(rate.foreground);
    return values.empty() ? 0 : median_interval(values).median;
  };
  for (const auto direction : {storage::Direction::write, storage::Direction::read}) {
    const auto rates =
        direction == storage::Direction::write ? &State::write_rates : &State::read_rates;
    ordered_json entry = {{"direction", bench::name_of(direction)},
                          {"eaar_bytes_per_second", median(state.*rates)},
                          {"synchronous_bytes_per_second", nullptr},
                          {"synchronous_run_id", nullptr},
                          {"bins", in_.size.no_bin},
                          {"nbin_multiple_bytes_per_second", nullptr}};
    if (sibling != states_.end()) {
      const double synchronous = median((**sibling).*rates);
      entry["synchronous_bytes_per_second"] = synchronous;
      entry["synchronous_run_id"] = (*sibling)->run["id"];
      entry["nbin_multiple_bytes_per_second"] = synchronous * static_cast<double>(in_.size.no_bin);
    }
    effective.push_back(std::move(entry));
  }
  return effective;
}

Status Sweep::finish_one(State& state, const ordered_json& environment,
                         const ordered_json& clocks) {
  const Job& job = in_.job;
  ordered_json histograms = ordered_json::array();
  std::vector<double> node_figures;
  for (PhaseHistory& phase : state.phases) {
    const LatencyHistogram merged = merge_over_ranks(job, phase.latencies);
    if (job.rank == 0) {
      histograms.push_back(
          histogram_json(phase.key, name_of(static_cast<Function>(phase.key.function)), merged));
    }
    node_figures.push_back(static_cast<double>(phase.node_bytes));
    node_figures.push_back(phase.node_io_seconds_max);
    node_figures.push_back(phase.node_rates.empty() ? 0 : median_interval(phase.node_rates).median);
  }
  const std::vector<NodeReport> nodes = gather_nodes(job, node_figures);
  const std::array<double, 1> verified{static_cast<double>(state.bytes_verified)};
  const std::vector<double> verified_sum = sum_over_ranks(job, verified);
  if (job.rank != 0) return {};

  ordered_json& run = state.run;
  for (const NodeReport& node : nodes) {
    ordered_json entry = {
        {"host", node.host}, {"ranks", node.ranks}, {"phases", ordered_json::array()}};
    for (std::size_t i = 0; i < state.phases.size(); ++i) {
      const PhaseKey& key = state.phases[i].key;
      const double rate = node.figures[3 * i + 2];
      entry["phases"].push_back(
          {{"function", name_of(static_cast<Function>(key.function))},
           {"direction", bench::name_of(key.direction)},
           {"bytes", static_cast<std::int64_t>(node.figures[3 * i])},
           {"io_seconds_max", node.figures[3 * i + 1]},
           {"rate_bytes_per_second", rate > 0 ? ordered_json(rate) : nullptr}});
    }
    run["nodes"].push_back(std::move(entry));
  }
  const std::vector<bool> outlying = outliers(state.seconds);
  std::size_t counted = 0;
  for (ordered_json& repetition : run["repetitions"]) {
    if (!repetition["warmup"].get<bool>()) repetition["outlier"] = bool{outlying[counted++]};
  }
  for (const auto& [direction, rates] : {std::pair{storage::Direction::write, &state.write_rates},
                                         std::pair{storage::Direction::read, &state.read_rates}}) {
    if (rates->empty()) continue;
    for (ordered_json& rate :
         rates_json(direction, *rates, state.headline_metric(), in_.core.repetitions)) {
      run["rates"].push_back(std::move(rate));
    }
  }
  run["effective"] = effective_json(state);
  run["histograms"] = std::move(histograms);
  run["verification"]["bytes_verified"] = static_cast<std::int64_t>(verified_sum[0]);
  run["clocks"] = clocks;
  run["environment"] = environment;
  if (clocks["flagged"].get<bool>()) {
    run["warnings"].push_back(fmt::format(
        "the clocks of different ranks agree to {:.3g} ms only, {:.1f} % of the shortest "
        "operation: rates by span are that uncertain",
        clocks["error_bound_ns"].get<double>() * 1e-6,
        clocks["error_fraction_of_span"].get<double>() * 100));
  }
  run["status"] = "complete";
  run["finished_utc"] = utc_now();
  return write_file_atomically(
      fmt::format("{}/{}/run.json", in_.folders.root, state.configuration.slug),
      run.dump(1) + "\n");
}

Status Sweep::save_unfinished(const nlohmann::ordered_json& payload_errors) {
  for (const auto& state : states_) {
    if (state.get() == failed_state_) state->run["verification"]["errors"] = payload_errors;
    if (state->run["status"] != "running") continue;
    if (Status status = write_file_atomically(
            fmt::format("{}/{}/run.json", in_.folders.root, state->configuration.slug),
            state->run.dump(1) + "\n");
        !status) {
      return status;
    }
  }
  return {};
}

void Sweep::report_progress(const State& state, int round, bool warmup) const {
  if (in_.job.rank != 0 || !in_.core.progress_json) return;
  const RepetitionPolicy& policy = in_.core.repetitions;
  int planned = 0;
  for (const auto& other : states_) {
    planned += other->finished ? other->repetitions
                               : std::max(policy.warmups + policy.minimum, other->repetitions + 1);
  }
  const ordered_json line = {
      {"progress",
       {{"label", state.configuration.label},
        {"repetition", round},
        {"warmup", warmup},
        {"repetitions_done", executed_},
        {"repetitions_planned", planned},
        {"text",
         fmt::format("{}: {} {}", state.configuration.label, warmup ? "warm-up" : "repetition",
                     warmup ? round + 1 : round + 1 - policy.warmups)}}}};
  fmt::print(stderr, "{}\n", line.dump());
  std::fflush(stderr);
}

void Sweep::print_tables() const {
  bool first = true;
  for (const auto& state : states_) {
    // The counted repetition with the median time; warm-ups come first in `tables`.
    std::vector<std::size_t> order(state->seconds.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return state->seconds[a] < state->seconds[b]; });
    const std::size_t warmups = state->tables.size() - state->seconds.size();
    const std::size_t median = warmups + order[(order.size() - 1) / 2];
    const TableHead head{in_.size, state->configuration.variant, in_.remap, in_.alpha};
    if (!first) fmt::print("\n");
    first = false;
    fmt::print("{}", original_table(head, state->tables[median]));
  }
  std::fflush(stdout);
}

}  // namespace weir::bench::madbench
