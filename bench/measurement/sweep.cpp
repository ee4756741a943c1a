#include "measurement/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <utility>

#include "common/clock.hpp"
#include "measurement/described_nodes.hpp"
#include "measurement/environment.hpp"
#include "measurement/memory_rate.hpp"
#include "measurement/quiet.hpp"

namespace weir::bench {
namespace {

using nlohmann::ordered_json;

constexpr double flagged_clock_error = 0.01;  // of the measured span

}  // namespace

Sweep::Sweep(SweepInputs inputs, std::vector<std::unique_ptr<SweptRun>> runs)
    : in_(std::move(inputs)),
      facts_{.job = in_.job, .core = in_.core},
      runs_(std::move(runs)),
      finished_(runs_.size(), false) {}

double Sweep::elapsed_seconds() const { return seconds_of(monotonic_ns() - local_start_ns_); }

Status Sweep::run() {
  const Job& job = in_.job;
  const QuietWatch quiet(job);
  const auto offset = estimate_clock_offset(job.world, job.deadline_ns());
  if (!offset) return offset.error();
  facts_.offset = offset.value();
  facts_.hosts = HostTable(gather_nodes(job, {}));
  facts_.memory_rate = memory_copy_rate(job);
  facts_.file_system = file_system_type(in_.directory);
  local_start_ns_ = monotonic_ns();
  facts_.epoch_ns = local_start_ns_ + facts_.offset.offset_ns;
  MPI_Bcast(&facts_.epoch_ns, 1, MPI_INT64_T, 0, job.world);

  for (int round = 0; std::find(finished_.begin(), finished_.end(), false) != finished_.end();
       ++round) {
    if (Status status = run_round(round); !status) return status;
  }
  if (tells_progress()) {
    report_end(in_.core.repetitions, progress(), runs_.back()->label());
  }
  in_.guard.entering("collecting the results", nullptr, -1);
  const auto quiet_record = quiet.finish(job);
  if (!quiet_record) return quiet_record.error();
  if (Status status = write_results(quiet_record.value()); !status) return status;
  in_.guard.left();
  return {};
}

Status Sweep::run_round(int round) {
  std::vector<std::size_t> order(runs_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Every rank draws the same order, because seed and round are the same.
  std::mt19937_64 random(in_.folders.seed + static_cast<std::uint64_t>(round));
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t index : order) {
    if (finished_[index]) continue;
    if (Status status = run_once(index, round); !status) return status;
    finished_[index] = is_finished(*runs_[index]);
  }
  return {};
}

Status Sweep::run_once(std::size_t index, int round) {
  SweptRun& run = *runs_[index];
  const bool warmup = round < in_.core.repetitions.warmups;
  if (tells_progress()) {
    report_progress(in_.core.repetitions, progress(), {.label = run.label(), .round = round});
  }
  if (in_.job.opened_hints) in_.job.opened_hints->begin(index);
  RepetitionPlace place{.index = round, .counted = !warmup, .order = executed_};
  place.started_ns = monotonic_ns();
  Status status = run.repeat(round);
  place.ended_ns = monotonic_ns();
  if (status.ok()) status = run.clear();
  if (!status) {
    failed_rank_ = run.failed_rank();
    failed_ = &run;
    return status;
  }
  in_.guard.entering("collecting the figures of a repetition", nullptr, -1);
  run.add(facts_, place);
  in_.guard.left();
  ++executed_;
  if (in_.job.rank == 0) {
    in_.guard.keep(run.slug(), [&]() -> const ordered_json& {
      run.put_rates(in_.core.repetitions);
      return run.run();
    });
  }
  return {};
}

bool Sweep::is_finished(SweptRun& run) const {
  const RepetitionPolicy& policy = in_.core.repetitions;
  int finished = 0;
  if (in_.job.rank == 0) {
    const int counted = run.counted();
    const bool out_of_time = counted >= 1 && elapsed_seconds() >= in_.core.time_limit_seconds;
    finished = run.settled(policy) || out_of_time ? 1 : 0;
    if (out_of_time && counted < run.least(policy) && !run.settled(policy)) {
      run.run()["warnings"].push_back(
          fmt::format("--time-limit ended the run after {} of at least {} repetitions", counted,
                      run.least(policy)));
    }
  }
  MPI_Bcast(&finished, 1, MPI_INT, 0, in_.job.world);
  return finished != 0;
}

Status Sweep::write_results(const nlohmann::json& quiet) {
  const Job& job = in_.job;
  ordered_json environment;
  if (job.node_rank == 0) {
    nlohmann::json nodes = describe_nodes(job.leaders, in_.directory);
    if (job.rank == 0) environment = describe_environment(std::move(nodes), in_.command, quiet);
  }
  const auto end = estimate_clock_offset(job.world, job.deadline_ns());
  if (!end) return end.error();
  const auto to_run_time = [&](std::int64_t local_ns) {
    return local_ns + interpolate(facts_.offset, end.value(), local_ns).offset_ns - facts_.epoch_ns;
  };
  for (std::size_t index = 0; index < runs_.size(); ++index) {
    const auto& run = runs_[index];
    Status status =
        write_events(job, in_.folders.root + "/" + run->slug(), run->events(), to_run_time);
    if (status = agree_on(job, std::move(status), &failed_rank_); !status) return status;
    const ordered_json clocks = clocks_json(*run, end.value());
    run->finish(facts_, environment, clocks);
    if (job.rank == 0) run->run()["opened_hints"] = job.opened_hints->record(index);
    status = job.rank == 0 ? write_run(*run) : Status();
    if (status = agree_on(job, std::move(status), &failed_rank_); !status) return status;
  }
  return {};
}

Status Sweep::write_run(SweptRun& run) const {
  return write_file_atomically(fmt::format("{}/{}/run.json", in_.folders.root, run.slug()),
                               run.run().dump(1) + "\n");
}

ordered_json Sweep::clocks_json(const SweptRun& run, const ClockOffset& end) const {
  const ClockOffset& start = facts_.offset;
  const std::array<std::int64_t, 2> mine{
      std::max(std::abs(start.offset_ns), std::abs(end.offset_ns)),
      std::max(start.error_bound_ns, end.error_bound_ns)};
  std::array<std::int64_t, 2> largest{};
  MPI_Reduce(mine.data(), largest.data(), 2, MPI_INT64_T, MPI_MAX, 0, in_.job.world);
  if (in_.job.rank != 0) return nullptr;
  const double shortest = std::min(elapsed_seconds(), run.shortest_seconds());
  const double fraction = shortest > 0 ? seconds_of(largest[1]) / shortest : 0;
  return {{"source", "CLOCK_MONOTONIC"},
          {"max_offset_ns", largest[0]},
          {"error_bound_ns", largest[1]},
          {"measured_span_ns", static_cast<std::int64_t>(shortest * 1e9)},
          {"error_fraction_of_span", fraction},
          {"flagged", fraction > flagged_clock_error},
          {"started_ns", facts_.epoch_ns}};
}

Status Sweep::save_unfinished(const ordered_json& payload_errors) {
  for (const auto& run : runs_) {
    if (run.get() == failed_) run->run()["verification"]["errors"] = payload_errors;
    if (run->run()["status"] != "running") continue;
    run->put_rates(in_.core.repetitions);
    if (Status status = write_run(*run); !status) return status;
  }
  return {};
}

std::vector<RunProgress> Sweep::progress() const {
  std::vector<RunProgress> all;
  all.reserve(finished_.size());
  for (const auto& run : runs_) all.push_back({run->repetitions(), finished_[all.size()]});
  return all;
}

}  // namespace weir::bench
