#include "workloads/madbench/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/environment.hpp"
#include "measurement/memory_rate.hpp"
#include "measurement/quiet.hpp"

namespace weir::bench::madbench {
namespace {

using nlohmann::ordered_json;

constexpr double flagged_clock_error = 0.01;  // of the measured span

}  // namespace

Sweep::Sweep(SweepInputs inputs, Executor& executor)
    : in_(std::move(inputs)),
      executor_(executor),
      facts_{.job = in_.job, .core = in_.core, .size = in_.size},
      finished_(in_.variants.size(), false) {
  for (std::size_t i = 0; i < in_.variants.size(); ++i) {
    const Variant& variant = in_.variants[i];
    results_.emplace_back(
        Configuration{.variant = variant,
                      .layout = Layout::create(in_.size, variant.file_type).value(),
                      .label = label_of(variant),
                      .slug = slug_of(variant),
                      .directory = in_.folders.test_directory,
                      .payload_seed = in_.folders.seed + i},
        in_.job.rank == 0 ? std::move(in_.runs[i]) : ordered_json());
  }
}

double Sweep::elapsed_seconds() const { return seconds_of(monotonic_ns() - local_start_ns_); }

Status Sweep::run() {
  const Job& job = in_.job;
  const QuietWatch quiet(job);
  const auto offset = estimate_clock_offset(job.world, job.deadline_ns());
  if (!offset) return offset.error();
  facts_.offset = offset.value();
  facts_.hosts = HostTable(gather_nodes(job, {}));
  facts_.memory_rate = memory_copy_rate(job);
  facts_.file_system = file_system_type(in_.core.directory);
  local_start_ns_ = monotonic_ns();
  facts_.epoch_ns = local_start_ns_ + facts_.offset.offset_ns;
  MPI_Bcast(&facts_.epoch_ns, 1, MPI_INT64_T, 0, job.world);

  for (int round = 0; std::find(finished_.begin(), finished_.end(), false) != finished_.end();
       ++round) {
    if (Status status = run_round(round); !status) return status;
  }
  if (tells_progress()) {
    report_end(in_.core.repetitions, progress(), results_.back().configuration().label);
  }
  in_.guard.entering("collecting the results", nullptr, -1);
  const auto quiet_record = quiet.finish(job);
  if (!quiet_record) return quiet_record.error();
  if (Status status = write_results(quiet_record.value()); !status) return status;
  in_.guard.left();
  if (job.rank == 0) print_tables();
  return {};
}

Status Sweep::run_round(int round) {
  std::vector<std::size_t> order(results_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Every rank draws the same order, because seed and round are the same.
  std::mt19937_64 random(in_.folders.seed + static_cast<std::uint64_t>(round));
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t index : order) {
    if (finished_[index]) continue;
    if (Status status = run_once(results_[index], round); !status) return status;
    finished_[index] = is_finished(results_[index]);
  }
  return {};
}

Status Sweep::run_once(RunResults& results, int round) {
  const bool warmup = round < in_.core.repetitions.warmups;
  if (tells_progress()) {
    report_progress(in_.core.repetitions, progress(),
                    {.label = results.configuration().label, .round = round});
  }
  RepetitionPlace place{.index = round, .counted = !warmup, .order = executed_};
  place.started_ns = monotonic_ns();
  const auto record = executor_.run(results.configuration(), round);
  place.ended_ns = monotonic_ns();
  Status status = record ? executor_.remove_files(results.configuration()) : record.error();
  if (!status) {
    failed_rank_ = executor_.failed_rank();
    failed_ = &results;
    return status;
  }
  in_.guard.entering("collecting the figures of a repetition", nullptr, -1);
  results.add(facts_, record.value(), place);
  if (in_.job.rank == 0) {
    const Work& work = executor_.work();
    if (ordered_json spectrum = work.spectrum(); !spectrum.is_null()) {
      results.run()["spectrum"] = std::move(spectrum);
    }
    if (in_.core.verify && *work.how_verified() != '\0') {
      results.run()["verification"]["how"] = work.how_verified();
    }
  }
  in_.guard.left();
  ++executed_;
  if (in_.job.rank == 0) {
    in_.guard.keep(results.configuration().slug, [&]() -> const ordered_json& {
      results.put_rates(in_.core.repetitions);
      return results.run();
    });
  }
  return {};
}

bool Sweep::is_finished(RunResults& results) const {
  const RepetitionPolicy& policy = in_.core.repetitions;
  int finished = 0;
  if (in_.job.rank == 0) {
    const int counted = results.counted();
    const std::optional<bool> wants_more = executor_.work().wants_more();
    const bool settled = wants_more ? !*wants_more && counted >= 1
                                    : results.settled(policy) || counted >= policy.maximum;
    const bool out_of_time = counted >= 1 && elapsed_seconds() >= in_.core.time_limit_seconds;
    finished = settled || out_of_time ? 1 : 0;
    if (out_of_time && counted < policy.minimum && !wants_more) {
      results.run()["warnings"].push_back(
          fmt::format("--time-limit ended the run after {} of at least {} repetitions", counted,
                      policy.minimum));
    }
  }
  MPI_Bcast(&finished, 1, MPI_INT, 0, in_.job.world);
  return finished != 0;
}

Status Sweep::write_results(const nlohmann::json& quiet) {
  const Job& job = in_.job;
  ordered_json environment;
  if (job.rank == 0) environment = describe_environment(in_.core.directory, in_.command, quiet);
  const auto end = estimate_clock_offset(job.world, job.deadline_ns());
  if (!end) return end.error();
  const auto to_run_time = [&](std::int64_t local_ns) {
    return local_ns + interpolate(facts_.offset, end.value(), local_ns).offset_ns - facts_.epoch_ns;
  };
  for (RunResults& results : results_) {
    const Configuration& configuration = results.configuration();
    Status status = write_events(job, in_.folders.root + "/" + configuration.slug, results.events(),
                                 to_run_time);
    if (status = agree_on(job, std::move(status), &failed_rank_); !status) return status;
    const ordered_json clocks = clocks_json(results, end.value());
    if (const std::string warning = executor_.work().warning(); !warning.empty() && job.rank == 0) {
      results.run()["warnings"].push_back(warning);
    }
    results.finish(facts_, environment, clocks, synchronous_sibling(configuration.variant));
    status = job.rank == 0 ? write_run(results) : Status();
    if (status = agree_on(job, std::move(status), &failed_rank_); !status) return status;
  }
  return {};
}

Status Sweep::write_run(RunResults& results) const {
  return write_file_atomically(
      fmt::format("{}/{}/run.json", in_.folders.root, results.configuration().slug),
      results.run().dump(1) + "\n");
}

const RunResults* Sweep::synchronous_sibling(const Variant& variant) const {
  const auto found = std::find_if(results_.begin(), results_.end(), [&](const auto& other) {
    const Variant& v = other.configuration().variant;
    return v.method == variant.method && v.file_type == variant.file_type && v.mode == Mode::sync;
  });
  return found == results_.end() ? nullptr : &*found;
}

ordered_json Sweep::clocks_json(const RunResults& results, const ClockOffset& end) const {
  const ClockOffset& start = facts_.offset;
  const std::array<std::int64_t, 2> mine{
      std::max(std::abs(start.offset_ns), std::abs(end.offset_ns)),
      std::max(start.error_bound_ns, end.error_bound_ns)};
  std::array<std::int64_t, 2> largest{};
  MPI_Reduce(mine.data(), largest.data(), 2, MPI_INT64_T, MPI_MAX, 0, in_.job.world);
  if (in_.job.rank != 0) return nullptr;
  // Clocks are compared over the span of one operation, so the shortest operation counts.
  const double shortest =
      std::min(elapsed_seconds(), results.shortest_operation_seconds(in_.job.size));
  const double fraction = shortest > 0 ? seconds_of(largest[1]) / shortest : 0;
  return {{"source", "CLOCK_MONOTONIC"},
          {"max_offset_ns", largest[0]},
          {"error_bound_ns", largest[1]},
          {"measured_span_ns", static_cast<std::int64_t>(shortest * 1e9)},
          {"error_fraction_of_span", fraction},
          {"flagged", fraction > flagged_clock_error}};
}

Status Sweep::save_unfinished(const ordered_json& payload_errors) {
  for (RunResults& results : results_) {
    if (&results == failed_) results.run()["verification"]["errors"] = payload_errors;
    if (results.run()["status"] != "running") continue;
    results.put_rates(in_.core.repetitions);
    if (Status status = write_run(results); !status) return status;
  }
  return {};
}

std::vector<RunProgress> Sweep::progress() const {
  std::vector<RunProgress> all;
  all.reserve(finished_.size());
  for (const RunResults& run : results_) all.push_back({run.repetitions(), finished_[all.size()]});
  return all;
}

void Sweep::print_tables() {
  bool first = true;
  for (RunResults& results : results_) {
    if (!first) fmt::print("\n");
    first = false;
    TableHead head{in_.size, results.configuration().variant, in_.remap, in_.alpha, in_.is_full};
    if (in_.is_full) {
      head.first_correction = results.run()["spectrum"]["bins"][0]["correction"].get<double>();
    }
    fmt::print("{}", original_table(head, results.median_times()));
  }
  fmt::print("{}", executor_.work().report());
  std::fflush(stdout);
}

}  // namespace weir::bench::madbench
