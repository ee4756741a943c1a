#include "measurement/swept_workload.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "measurement/failure_report.hpp"
#include "measurement/sweep.hpp"

namespace weir::bench {
namespace {

using nlohmann::ordered_json;

// Prints the plan of a job with that many ranks. `elsewhere`: nothing of this machine matters.
int print_plan(const SweptWorkload& workload, std::int64_t ranks, bool elsewhere) {
  Status fits = elsewhere ? Status() : workload.check_places(ranks);
  if (fits.ok() && !elsewhere) fits = workload.check_room(ranks);
  if (!fits) return complain(fits.error());
  return print_planned(workload.configurations(ranks), workload.core(),
                       {.transfer_bytes = workload.transfer_bytes(ranks),
                        .notes = workload.notes(),
                        .decided = workload.decided(),
                        .few_bytes = workload.few_bytes()});
}

int plan_workload(const Settings& settings, const MakeWorkload& make, int left_out) {
  const PlanSettings planned = plan_settings_of(settings);
  const auto plan = [&](std::int64_t ranks, bool prints) {
    if (ranks <= left_out) {
      return complain(invalid_argument(
          fmt::format("{} rank of each node gives its place to a stager: start at least {} ranks",
                      left_out, left_out + 1)));
    }
    const auto made = make(settings, ranks - left_out);
    if (!prints) return made ? 0 : exit_usage;
    return made ? print_plan(*made.value(), ranks - left_out, planned.elsewhere)
                : complain(made.error());
  };
  if (planned.ranks) return plan(*planned.ranks, true);
  return run_under_mpi([&](int ranks) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return plan(ranks, rank == 0);
  });
}

// Writes the run.json of every configuration before the first repetition. On rank 0.
Result<std::vector<ordered_json>> write_started_runs(
    const std::string& name, const SweptWorkload& workload, const JobUnderWay& under_way,
    const std::vector<PlannedConfiguration>& configurations, const ordered_json& expectations) {
  std::vector<RunHead> heads;
  heads.reserve(configurations.size());
  for (const PlannedConfiguration& one : configurations) {
    heads.push_back(
        {.workload = name,
         .slug = one.slug,
         .label = one.label,
         .command = under_way.command,
         .parameters = one.parameters,
         .plan = one.plan,
         .expectation = expectations.contains(one.slug) ? expectations[one.slug] : nullptr});
  }
  auto runs = write_new_runs(under_way.folders, heads, workload.core());
  if (!runs) return runs.error();
  for (ordered_json& run : runs.value()) {
    for (const std::string& warning : workload.warnings()) run["warnings"].push_back(warning);
  }
  return runs;
}

int end_before_the_sweep(const JobUnderWay& under_way, const Error& error, int failed_rank) {
  return end_after_failure(under_way.job, under_way.guard,
                           {error, failed_rank, ordered_json::array()}, {});
}

// Runs the sweep and, if it fails, ends the run. Returns the exit status.
int measure(SweptWorkload& workload, const JobUnderWay& under_way,
            std::vector<ordered_json> started) {
  int failed_rank = none_failed;
  auto runs = workload.make_runs(under_way, std::move(started), &failed_rank);
  if (!runs) return end_before_the_sweep(under_way, runs.error(), failed_rank);
  Sweep sweep({.job = under_way.job,
               .guard = under_way.guard,
               .core = workload.core(),
               .folders = under_way.folders,
               .directory = workload.measured_directory(under_way.folders),
               .command = under_way.command},
              std::move(runs).value());
  Status status = sweep.run();
  failed_rank = sweep.failed_rank();
  if (status.ok()) status = workload.finish(under_way, &failed_rank);
  if (!status) {
    return end_after_failure(
        under_way.job, under_way.guard,
        {status.error(), failed_rank, workload.failure_details(under_way.job)},
        [&sweep](const ordered_json& errors) { return sweep.save_unfinished(errors); });
  }
  if (under_way.job.rank != 0) return 0;
  workload.print(under_way);
  std::fflush(stdout);
  under_way.guard.set_test_files(workload.leftovers(under_way.folders));
  if (Status removed = under_way.guard.remove_test_files(); !removed) {
    fmt::print(stderr, "weir-bench: {}\n", removed.error().text());
  }
  fmt::print(stderr, "weir-bench: results in {}\n", under_way.folders.root);
  return 0;
}

int run_in_job(const std::string& name, const Job& job, std::unique_ptr<SweptWorkload> made,
               const std::vector<std::string>& command) {
  SweptWorkload& workload = *made;
  const auto refuse = [&](const Error& error) {
    if (job.rank == 0) complain(error);
    return exit_usage;
  };
  int failed_rank = none_failed;
  Status status =
      agree_on(job, job.rank == 0 ? workload.check_places(job.size) : Status(), &failed_rank);
  if (status.ok()) status = workload.check_nodes(job);
  if (status.ok()) {
    if (job.rank == 0) status = workload.check_room(job.size);
    if (job.rank == 0 && status.ok()) status = workload.make_places();
    status = agree_on(job, std::move(status), &failed_rank);
  }
  if (!status) return refuse(status.error());
  // Only rank 0 reads the expectations, because it writes them into the results.
  auto expectations = job.rank == 0 ? read_expectations(workload.core().expectation)
                                    : Result<ordered_json>(ordered_json());
  status = agree_on(job, expectations ? Status() : Status(expectations.error()), &failed_rank);
  if (!status) return refuse(status.error());
  std::vector<std::string> slugs;
  for (const PlannedConfiguration& one : workload.configurations(job.size)) {
    slugs.push_back(one.slug);
  }
  const auto folders = create_job_folders(job, workload.core(), name, slugs);
  if (!folders) return refuse(folders.error());
  // With --progress, `weir` has reported the notes from the plan.
  if (job.rank == 0 && !workload.core().progress_json) {
    for (const std::string& note : workload.notes()) fmt::print(stderr, "weir-bench: {}\n", note);
  }

  FailureGuard guard(job, folders.value().root, slugs);
  guard.set_test_files(workload.test_files(folders.value()));
  const JobUnderWay under_way{job, guard, folders.value(), command};
  // The workload refers to the folders and the guard, so it must be destroyed before them.
  const std::unique_ptr<SweptWorkload> goes_first = std::move(made);
  status = workload.prepare(under_way, &failed_rank);
  if (!status) return end_before_the_sweep(under_way, status.error(), failed_rank);
  // prepare() may have decided some of what the configurations do.
  const auto configurations = workload.configurations(job.size);
  std::vector<ordered_json> started(configurations.size());
  if (job.rank == 0) {
    auto runs = write_started_runs(name, workload, under_way, configurations, expectations.value());
    status = runs ? Status() : Status(runs.error());
    if (runs) started = std::move(runs).value();
  }
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) return end_before_the_sweep(under_way, status.error(), failed_rank);
  return measure(workload, under_way, std::move(started));
}

}  // namespace

ordered_json SweptWorkload::decided() const { return ordered_json::object(); }

ordered_json SweptWorkload::failure_details(const Job& /*job*/) const {
  return ordered_json::array();
}

int run_swept_workload(const std::string& name, const std::vector<std::string>& arguments,
                       const Result<ResolvedSettings>& resolved, const MakeWorkload& make,
                       const JobRanks& job_ranks) {
  if (resolved && resolved.value().help) {
    fmt::print("{}", *resolved.value().help);
    return 0;
  }
  if (resolved && plan_settings_of(resolved.value().settings).only) {
    return plan_workload(resolved.value().settings, make, job_ranks.left_out);
  }
  const auto run_on = [&](MPI_Comm communicator) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &ranks);
    auto made = resolved ? make(resolved.value().settings, ranks) : MadeWorkload(resolved.error());
    if (!made) return rank == 0 ? complain(made.error()) : exit_usage;
    const Job job = Job::create(made.value()->core().deadline_seconds, communicator);
    std::vector<std::string> command{"weir-bench", name};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_in_job(name, job, std::move(made).value(), command);
  };
  return run_under_mpi([&](int /*ranks*/) {
    return job_ranks.choose != nullptr ? job_ranks.choose(run_on) : run_on(MPI_COMM_WORLD);
  });
}

}  // namespace weir::bench
