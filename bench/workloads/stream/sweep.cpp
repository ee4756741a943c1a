#include "workloads/stream/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "common/clock.hpp"
#include "measurement/environment.hpp"
#include "measurement/memory_rate.hpp"
#include "measurement/quiet.hpp"

namespace weir::bench::stream {
namespace {

using nlohmann::ordered_json;

constexpr double flagged_clock_error = 0.01;  // of the measured span

}  // namespace

Sweep::Sweep(SweepInputs inputs, Executor& executor)
    : in_(std::move(inputs)),
      executor_(executor),
      facts_{.job = in_.job, .core = in_.core, .options = in_.options},
      finished_(in_.configurations.size(), false) {
  for (std::size_t i = 0; i < in_.configurations.size(); ++i) {
    results_.emplace_back(in_.configurations[i], in_.options,
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
  const std::string file_system =
      file_system_type(in_.configurations.front().files.directories().front());
  if (is_memory_file_system(file_system)) facts_.memory_file_system = file_system;
  local_start_ns_ = monotonic_ns();
  facts_.epoch_ns = local_start_ns_ + facts_.offset.offset_ns;
  MPI_Bcast(&facts_.epoch_ns, 1, MPI_INT64_T, 0, job.world);

  for (int round = 0; std::find(finished_.begin(), finished_.end(), false) != finished_.end();
       ++round) {
    if (Status status = run_round(round); !status) return status;
  }
  in_.guard.entering("collecting the results", nullptr, -1);
  const auto quiet_record = quiet.finish(job);
  if (!quiet_record) return quiet_record.error();
  if (Status status = write_results(quiet_record.value()); !status) return status;
  in_.guard.left();
  Status printed = job.rank == 0 ? print_summary() : Status();
  return agree_on(job, std::move(printed), &failed_rank_);
}

Status Sweep::run_round(int round) {
  std::vector<std::size_t> order(results_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The same draw on every rank: seed and round are the same.
  std::mt19937_64 random(in_.folders.seed + static_cast<std::uint64_t>(round));
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t index : order) {
    if (finished_[index]) continue;
    if (Status status = run_once(index, round); !status) return status;
    finished_[index] = is_finished(results_[index]);
  }
  return {};
}

Status Sweep::run_once(std::size_t index, int round) {
  RunResults& results = results_[index];
  const bool warmup = round < in_.core.repetitions.warmups;
  report_progress(index, round, warmup);
  RepetitionPlace place{.index = round, .counted = !warmup, .order = executed_};
  place.started_ns = monotonic_ns();
  const auto record = executor_.run(results.configuration(), round);
  place.ended_ns = monotonic_ns();
  if (!record) {
    failed_rank_ = executor_.failed_rank();
    failed_ = &results;
    return record.error();
  }
  in_.guard.entering("collecting the figures of a repetition", nullptr, -1);
  results.add(facts_, record.value(), place);
  in_.guard.left();
  ++executed_;
  return {};
}

bool Sweep::is_finished(RunResults& results) const {
  const RepetitionPolicy& policy = in_.core.repetitions;
  int finished = 0;
  if (in_.job.rank == 0) {
    const int counted = results.counted();
    const bool out_of_time = counted >= 1 && elapsed_seconds() >= in_.core.time_limit_seconds;
    finished = results.settled(policy) || counted >= policy.maximum || out_of_time ? 1 : 0;
    if (out_of_time && counted < policy.minimum) {
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
  if (job.rank == 0) {
    environment = describe_environment(in_.configurations.front().files.directories().front(),
                                       in_.command, quiet);
  }
  const auto end = estimate_clock_offset(job.world, job.deadline_ns());
  if (!end) return end.error();
  const auto to_run_time = [&](std::int64_t local_ns) {
    return local_ns + interpolate(facts_.offset, end.value(), local_ns).offset_ns - facts_.epoch_ns;
  };
  for (RunResults& results : results_) {
    const std::string& slug = results.configuration().variant.slug;
    Status status = write_events(job, in_.folders.root + "/" + slug, results.events(), to_run_time);
    if (status = agree_on(job, std::move(status), &failed_rank_); !status) return status;
    const ordered_json clocks = clocks_json(results, end.value());
    results.finish(facts_, environment, clocks);
    status = job.rank == 0 ? write_run(results) : Status();
    if (status = agree_on(job, std::move(status), &failed_rank_); !status) return status;
  }
  return {};
}

Status Sweep::write_run(RunResults& results) const {
  const std::string& slug = results.configuration().variant.slug;
  return write_file_atomically(fmt::format("{}/{}/run.json", in_.folders.root, slug),
                               results.run().dump(1) + "\n");
}

ordered_json Sweep::clocks_json(const RunResults& results, const ClockOffset& end) const {
  const ClockOffset& start = facts_.offset;
  const std::array<std::int64_t, 2> mine{
      std::max(std::abs(start.offset_ns), std::abs(end.offset_ns)),
      std::max(start.error_bound_ns, end.error_bound_ns)};
  std::array<std::int64_t, 2> largest{};
  MPI_Reduce(mine.data(), largest.data(), 2, MPI_INT64_T, MPI_MAX, 0, in_.job.world);
  if (in_.job.rank != 0) return nullptr;
  const double shortest = std::min(elapsed_seconds(), results.shortest_span_seconds());
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
    if (Status status = write_run(results); !status) return status;
  }
  return {};
}

void Sweep::report_progress(std::size_t index, int round, bool warmup) const {
  if (in_.job.rank != 0 || !in_.core.progress_json) return;
  const RepetitionPolicy& policy = in_.core.repetitions;
  int planned = 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const int done = results_[i].repetitions();
    planned += finished_[i] ? done : std::max(policy.warmups + policy.minimum, done + 1);
  }
  const std::string& label = results_[index].configuration().variant.label;
  const ordered_json line = {
      {"progress",
       {{"label", label},
        {"repetition", round},
        {"warmup", warmup},
        {"repetitions_done", executed_},
        {"repetitions_planned", planned},
        {"text", fmt::format("{}: {} {}", label, warmup ? "warm-up" : "repetition",
                             warmup ? round + 1 : round + 1 - policy.warmups)}}}};
  fmt::print(stderr, "{}\n", line.dump());
  std::fflush(stderr);
}

Status Sweep::print_summary() const {
  std::vector<IorTest> tests;
  for (const RunResults& results : results_) {
    tests.push_back({.variant = results.configuration().variant,
                     .layout = results.configuration().layout,
                     .file = results.configuration().files.path(0, 0),
                     .rows = results.rows()});
  }
  const IorSummary summary{.options = in_.options,
                           .core = in_.core,
                           .nodes = in_.job.nodes,
                           .ranks_per_node = in_.job.node_size,
                           .began_utc = in_.folders.started_utc,
                           .finished_utc = utc_now(),
                           .host = in_.job.host,
                           .command = in_.command,
                           .tests = std::move(tests)};
  const std::string text = in_.options.summary_format == SummaryFormat::json  ? ior_json(summary)
                           : in_.options.summary_format == SummaryFormat::csv ? ior_csv(summary)
                                                                              : ior_text(summary);
  if (!in_.options.summary_file.empty()) {
    return write_file_atomically(in_.options.summary_file, text);
  }
  fmt::print("{}", text);
  std::fflush(stdout);
  return {};
}

}  // namespace weir::bench::stream
