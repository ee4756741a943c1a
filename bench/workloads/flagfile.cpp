#include "workloads/flagfile.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <memory>
#include <utility>

#include "common/settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/sweep.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/flagfile/execute.hpp"
#include "workloads/flagfile/parameters.hpp"
#include "workloads/flagfile/plan.hpp"
#include "workloads/flagfile/results.hpp"
#include "workloads/flagfile/table.hpp"

namespace weir::bench::flagfile {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench flagfile";
constexpr const char* description =
    "Some ranks poll a file until it says that they may go on, as programs do that talk through "
    "files; others call stat on files of their own. Says what the pollers cost the others.";

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
};

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  auto options = options_of(settings, ranks);
  if (!options) return options.error();
  if (Status fits = check_core(core.value(), options.value()); !fits) return fits.error();
  auto variants = variants_of(settings, options.value(), ranks);
  if (!variants) return variants.error();
  return Request{std::move(settings), std::move(core).value(), std::move(options).value(),
                 std::move(variants).value()};
}

// The settings as one configuration has them, under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, {});
  parameters["pollers"] = {
      {"value", variant.pollers},
      {"origin", request.settings.has("pollers") ? "command line" : "default"}};
  return parameters;
}

int print_plan(const Settings& settings) {
  const auto ranks = ranks_to_plan_for(settings);
  if (!ranks) return complain(ranks.error());
  const auto request = request_of(settings, ranks.value());
  if (!request) return complain(request.error());
  const Request& r = request.value();
  if (Status there = check_directory(r.core.directory); !there) return complain(there.error());
  std::vector<PlannedConfiguration> configurations;
  configurations.reserve(r.variants.size());
  for (const Variant& variant : r.variants) {
    configurations.push_back({variant.label, variant.slug, false, own_parameters(r, variant),
                              plan_json(r.options, ranks.value())});
  }
  return print_planned(configurations, r.core.directory, 0);
}

std::vector<RunHead> heads_of(const Job& job, const Request& request,
                              const ordered_json& expectations,
                              const std::vector<std::string>& command) {
  std::vector<RunHead> heads;
  for (const Variant& variant : request.variants) {
    const std::string& slug = variant.slug;
    heads.push_back({.workload = "flagfile",
                     .slug = slug,
                     .label = variant.label,
                     .command = command,
                     .parameters = own_parameters(request, variant),
                     .plan = plan_json(request.options, job.size),
                     .expectation = expectations.contains(slug) ? expectations[slug] : nullptr});
  }
  return heads;
}

// Runs the sweep; when that fails, ends the run. Returns the exit status. `started`: run.json of
// each configuration so far, on rank 0.
int measure(const Job& job, FailureGuard& guard, const Request& request, const JobFolders& folders,
            const std::vector<std::string>& command, std::vector<ordered_json> started) {
  Executor executor(job, guard, request.core, request.options, folders.test_directory);
  if (Status made = executor.begin(); !made) {
    const KnownFailure failure{made.error(), executor.failed_rank(), ordered_json::array()};
    return end_after_failure(job, guard, failure, {});
  }
  std::vector<std::unique_ptr<SweptRun>> runs;
  std::vector<const FlagRun*> printed;
  for (std::size_t i = 0; i < request.variants.size(); ++i) {
    auto run = std::make_unique<FlagRun>(request.variants[i], request.options, executor,
                                         job.rank == 0 ? std::move(started[i]) : ordered_json());
    printed.push_back(run.get());
    runs.push_back(std::move(run));
  }
  Sweep sweep({.job = job,
               .guard = guard,
               .core = request.core,
               .folders = folders,
               .directory = folders.test_directory,
               .command = command},
              std::move(runs));
  Status status = sweep.run();
  int failed_rank = sweep.failed_rank();
  if (status.ok()) {
    status = executor.finish();
    failed_rank = executor.failed_rank();
  }
  if (!status) {
    return end_after_failure(
        job, guard, {status.error(), failed_rank, ordered_json::array()},
        [&sweep](const ordered_json& errors) { return sweep.save_unfinished(errors); });
  }
  if (job.rank == 0) fmt::print("{}", table(printed));
  return 0;
}

int run_in_job(const Job& job, const Request& request, const std::vector<std::string>& command) {
  const CoreSettings& core = request.core;
  std::vector<std::string> slugs;
  slugs.reserve(request.variants.size());
  for (const Variant& variant : request.variants) slugs.push_back(variant.slug);
  const auto refuse = [&](const Error& error) {
    if (job.rank == 0) complain(error);
    return exit_usage;
  };
  int failed_rank = none_failed;
  Status status =
      agree_on(job, job.rank == 0 ? check_directory(core.directory) : Status(), &failed_rank);
  if (!status) return refuse(status.error());
  const auto expectations = read_expectations(core.expectation);
  if (!expectations) return refuse(expectations.error());
  const auto folders = create_job_folders(job, core, "flagfile", slugs);
  if (!folders) return refuse(folders.error());
  const std::string& root = folders.value().test_directory;

  FailureGuard guard(job, folders.value().root, slugs);
  guard.set_test_files({.directory = root, .paths = {}, .job_folders = {root}});
  std::vector<ordered_json> started;
  if (job.rank == 0) {
    auto runs = write_new_runs(folders.value(),
                               heads_of(job, request, expectations.value(), command), core);
    status = runs ? Status() : Status(runs.error());
    if (runs) started = std::move(runs).value();
  }
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, ordered_json::array()}, {});
  }
  const int exit_status =
      measure(job, guard, request, folders.value(), command, std::move(started));
  if (exit_status == 0 && job.rank == 0) {
    guard.set_test_files({root, {}});
    if (Status removed = guard.remove_test_files(); !removed) complain(removed.error());
    fmt::print(stderr, "weir-bench: results in {}\n", folders.value().root);
  }
  return exit_status;
}

int run(const std::vector<std::string>& arguments) {
  auto resolved =
      resolve_settings(program, description, declarations(), arguments, process_environment);
  if (resolved && resolved.value().help) {
    fmt::print("{}", *resolved.value().help);
    return 0;
  }
  if (resolved && resolved.value().settings.flag("plan")) {
    return print_plan(resolved.value().settings);
  }
  return run_under_mpi([&](int ranks) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    auto request = resolved ? request_of(std::move(resolved.value().settings), ranks)
                            : Result<Request>(resolved.error());
    if (!request) return rank == 0 ? complain(request.error()) : exit_usage;
    const Job job = Job::create(request.value().core.deadline_seconds);
    std::vector<std::string> command{"weir-bench", "flagfile"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_in_job(job, request.value(), command);
  });
}

}  // namespace
}  // namespace weir::bench::flagfile

namespace weir::bench {

int run_flagfile(const std::vector<std::string>& arguments) { return flagfile::run(arguments); }

}  // namespace weir::bench
