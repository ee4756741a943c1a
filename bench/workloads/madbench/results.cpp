#include "workloads/madbench/results.hpp"

#include <algorithm>
#include <array>
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

CacheEvidence evidence_of(const RepetitionRecord& record, const PhaseKey& key,
                          const CoreSettings& core) {
  CacheEvidence evidence;
  evidence.durable = core.durability != storage::Durability::none;
  for (const FunctionCost& cost : record.functions) {
    if (static_cast<std::int8_t>(cost.function) != key.function) continue;
    evidence.device_bytes =
        key.direction == Direction::read ? cost.device_bytes_read : cost.device_bytes_written;
    evidence.device_known = cost.device_known;
    evidence.resident_sum = cost.resident_sum;
    evidence.resident_count = cost.resident_count;
  }
  return evidence;
}

// Returns the bytes that this rank moved in a phase, and its time in transfers and their syncs.
TargetFigures part_of_rank(const PhaseKey& key, std::span<const Event> events) {
  TargetFigures part;
  for (const Event& event : events) {
    const bool reads = event.operation == Operation::read;
    const bool writes = event.operation == Operation::write || event.operation == Operation::sync;
    if (event.function != key.function || !(key.direction == Direction::read ? reads : writes)) {
      continue;
    }
    part.bytes += event.bytes;
    part.io_seconds_max += seconds_of(event.end_ns - event.start_ns);
  }
  return part;
}

const char* headline_of(const Configuration& configuration) {
  return configuration.variant.mode == Mode::async ? "foreground" : "span";
}

}  // namespace

MadbenchRun::MadbenchRun(Configuration configuration, Executor& executor, ordered_json run)
    : SweptRun(configuration.label, configuration.slug, std::move(run)),
      configuration_(std::move(configuration)),
      executor_(executor),
      phases_(phases_of(configuration_.variant)),
      targets_(configuration_.directories),
      write_rates_(Rates::of_bytes(headline_of(configuration_))),
      read_rates_(write_rates_) {
  for (const PhaseKey& key : phases_) {
    activities_.emplace_back(function_of(key), key.direction);
    targets_.add_phase(function_of(key), key.direction);
  }
}

Status MadbenchRun::repeat(std::int32_t repetition) {
  auto record = executor_.run(configuration_, repetition);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

ordered_json MadbenchRun::figures(const JobFacts& facts, bool counted) {
  bytes_verified_ += record_.bytes_verified;
  events_.insert(events_.end(), record_.events.begin(), record_.events.end());
  ordered_json own;
  own["phases"] = phases_json(facts, counted);
  own["functions"] = functions_json(facts);
  const std::span<const Exchange> exchanges = executor_.work().exchanges();
  exchanges_ = !exchanges.empty();
  if (counted && exchanges_) messages_.add(facts.job, divided(exchanges, record_.events));
  if (facts.job.rank == 0) {
    // The work holds the spectrum of the repetition that was carried out last, of any
    // configuration.
    ordered_json spectrum = executor_.work().spectrum();
    if (!spectrum.is_null()) run()["spectrum"] = std::move(spectrum);
  }
  return own;
}

ordered_json MadbenchRun::phases_json(const JobFacts& facts, bool counted) {
  const Job& job = facts.job;
  std::vector<PhaseFigures> all;
  ordered_json phases = ordered_json::array();
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const PhaseKey& key = phases_[i];
    all.push_back(phase_figures(job, key, record_.events, facts.offset));
    const PhaseFigures& found = all.back();
    const CacheState cache = judge_cache(facts, found, evidence_of(record_, key, facts.core));
    const NodePhase node = node_phase(job, key, record_.events);
    const auto by_target = target_figures(job, part_of_rank(key, record_.events),
                                          target_of(facts, key), targets_.directories());
    if (counted) {
      LatencyHistogram latencies;
      record_latencies(key, record_.events, latencies);
      activities_[i].add(job, latencies, share_of(node));
      if (found.rate_span > 0) {
        compare_clocks_over(found.span_seconds * job.size / static_cast<double>(found.operations));
      }
    }
    if (job.rank == 0) {
      phases.push_back(phase_json(found, function_of(key), cache, facts.hosts));
      if (counted) targets_.add(i, by_target);
    }
  }
  if (counted && job.rank == 0 && !all.empty()) {
    write_rates_.add(direction_rates(all, Direction::write));
    read_rates_.add(direction_rates(all, Direction::read));
  }
  return phases;
}

ordered_json MadbenchRun::functions_json(const JobFacts& facts) {
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

void MadbenchRun::put_series(const RepetitionPolicy& policy) {
  run()["rates"] = ordered_json::array();
  for (const auto direction : {Direction::write, Direction::read}) {
    if (rates(direction).empty()) continue;
    for (ordered_json& rate :
         rates(direction).to_json({{"direction", bench::name_of(direction)}}, policy)) {
      run()["rates"].push_back(std::move(rate));
    }
  }
}

std::size_t MadbenchRun::target_of(const JobFacts& facts, const PhaseKey& key) const {
  const auto function = static_cast<Function>(key.function);
  const std::int64_t owner =
      owner_of(function, facts.job.rank, facts.core.rank_shift, facts.job.size);
  return static_cast<std::size_t>(owner) % targets_.directories();
}

int MadbenchRun::least(const RepetitionPolicy& policy) const {
  return executor_.work().wants_more() ? 1 : policy.minimum;
}

bool MadbenchRun::settled(const RepetitionPolicy& policy) const {
  if (const auto wants_more = executor_.work().wants_more()) return !*wants_more && counted() >= 1;
  return SweptRun::settled(policy);
}

bool MadbenchRun::converged(const RepetitionPolicy& policy) const {
  if (phases_.empty()) return true;  // nothing is moved
  return write_rates_.headline().converged(policy) && read_rates_.headline().converged(policy);
}

const std::vector<FunctionTimes>& MadbenchRun::median_times() const {
  std::vector<std::size_t> order(seconds().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return seconds()[a] < seconds()[b]; });
  // `tables_` begins with the warm-ups.
  const std::size_t warmups = tables_.size() - seconds().size();
  return tables_[warmups + order[(order.size() - 1) / 2]];
}

// Returns the EAAR together with the synchronous rate and its NBIN multiple (Borrill et al.,
// section 5 and figure 7).
ordered_json MadbenchRun::effective_json() const {
  const std::int64_t bins = configuration_.layout.matrices(GangLevel::all_ranks);
  ordered_json effective = ordered_json::array();
  if (configuration_.variant.mode != Mode::async) return effective;
  for (const auto direction : {Direction::write, Direction::read}) {
    ordered_json entry = {{"direction", bench::name_of(direction)},
                          {"eaar_bytes_per_second", rates(direction).of("foreground").median()},
                          {"synchronous_bytes_per_second", nullptr},
                          {"synchronous_run_id", nullptr},
                          {"bins", bins},
                          {"nbin_multiple_bytes_per_second", nullptr}};
    if (sibling_ != nullptr) {
      const double synchronous = sibling_->rates(direction).of("foreground").median();
      entry["synchronous_bytes_per_second"] = synchronous;
      entry["synchronous_run_id"] = sibling_->run()["id"];
      entry["nbin_multiple_bytes_per_second"] = synchronous * static_cast<double>(bins);
    }
    effective.push_back(std::move(entry));
  }
  return effective;
}

void MadbenchRun::put_last(const JobFacts& facts) {
  if (facts.job.rank != 0) return;
  run()["effective"] = effective_json();
  if (exchanges_ && counted() > 0) {
    const bool compared = sibling_ != nullptr && sibling_ != this && sibling_->counted() > 0;
    run()["messages"] =
        messages_.to_json(facts.core.repetitions, compared ? &sibling_->messages_ : nullptr,
                          compared ? sibling_->run()["id"].get<std::string>() : "");
  }
  run()["targets"] = targets_.to_json(facts.job.size);
  if (std::string warning = executor_.work().warning(); !warning.empty()) {
    run()["warnings"].push_back(std::move(warning));
  }
}

}  // namespace weir::bench::madbench
