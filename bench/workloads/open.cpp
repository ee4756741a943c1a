#include "workloads/open.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <memory>
#include <utility>

#include "adapters/calls/counted_path.hpp"
#include "common/settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/sweep.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/open/execute.hpp"
#include "workloads/open/own_calls.hpp"
#include "workloads/open/parameters.hpp"
#include "workloads/open/plan.hpp"
#include "workloads/open/results.hpp"
#include "workloads/open/table.hpp"

namespace weir::bench::opening {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench open";
constexpr const char* description =
    "Creates one file and opens it again, on all ranks, and says how long it took and how many "
    "metadata operations reached the file system.";

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
};

Result<Request> request_of(Settings settings) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  if (Status fits = check_core(core.value()); !fits) return fits.error();
  auto options = options_of(settings);
  if (!options) return options.error();
  auto variants = variants_of(settings);
  if (!variants) return variants.error();
  return Request{std::move(settings), std::move(core).value(), std::move(options).value(),
                 std::move(variants).value()};
}

// The settings as one configuration has them, under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, {"bytes"});
  parameters["api"]["value"] = name_of(variant.api);
  parameters["layout"]["value"] = name_of(variant.layout);
  return parameters;
}

int print_plan(const Settings& settings) {
  const auto ranks = ranks_to_plan_for(settings);
  if (!ranks) return complain(ranks.error());
  const auto request = request_of(settings);
  if (!request) return complain(request.error());
  const Request& r = request.value();
  if (Status there = check_directory(r.core.directory); !there) return complain(there.error());
  std::vector<PlannedConfiguration> configurations;
  configurations.reserve(r.variants.size());
  for (const Variant& variant : r.variants) {
    configurations.push_back({variant.label, variant.slug, false, own_parameters(r, variant),
                              plan_json(variant, r.options, ranks.value())});
  }
  return print_planned(configurations, r.core.directory, 0);
}

std::vector<RunHead> heads_of(const Job& job, const Request& request,
                              const ordered_json& expectations,
                              const std::vector<std::string>& command) {
  std::vector<RunHead> heads;
  for (const Variant& variant : request.variants) {
    const std::string& slug = variant.slug;
    heads.push_back({.workload = "open",
                     .slug = slug,
                     .label = variant.label,
                     .command = command,
                     .parameters = own_parameters(request, variant),
                     .plan = plan_json(variant, request.options, job.size),
                     .expectation = expectations.contains(slug) ? expectations[slug] : nullptr});
  }
  return heads;
}

// What measure() needs besides the request.
struct Measurement {
  const JobFolders& folders;
  const std::vector<std::string>& command;
  const OwnCalls& calls;
  bool counts = false;             // calls can be counted, and are to be
  std::vector<ordered_json> runs;  // run.json of each configuration so far; on rank 0
};

// Counts, then runs the sweep; when one fails, ends the run. Returns the exit status.
int measure(const Job& job, FailureGuard& guard, const Request& request, Measurement measurement) {
  const JobFolders& folders = measurement.folders;
  Executor executor(job, guard, request.core, request.options, measurement.calls,
                    folders.test_directory, folders.seed);
  std::vector<std::unique_ptr<SweptRun>> runs;
  std::vector<const OpenRun*> printed;
  for (std::size_t i = 0; i < request.variants.size(); ++i) {
    CountedSteps counted;
    if (measurement.counts) {
      auto found = executor.count(request.variants[i]);
      if (!found) {
        const KnownFailure failure{found.error(), executor.failed_rank(), ordered_json::array()};
        return end_after_failure(job, guard, failure, {});
      }
      counted = std::move(found).value();
    }
    auto run = std::make_unique<OpenRun>(
        request.variants[i], request.options, executor, std::move(counted),
        job.rank == 0 ? std::move(measurement.runs[i]) : ordered_json());
    printed.push_back(run.get());
    runs.push_back(std::move(run));
  }
  Sweep sweep({.job = job,
               .guard = guard,
               .core = request.core,
               .folders = folders,
               .directory = folders.test_directory,
               .command = measurement.command},
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
  if (job.rank == 0) {
    for (const OpenRun* run : printed) fmt::print("{}\n", table(*run));
  }
  return 0;
}

// Whether every rank can count its calls; the same on all. On rank 0 `why_not` is why not all can.
bool all_can_count(const Job& job, const OwnCalls& calls, const std::string& root,
                   std::string* why_not) {
  if (!calls::is_counted_path(root + "/")) {
    *why_not = fmt::format(
        "metadata operations were not counted: libweir_calls leaves out files below {}; give "
        "another --directory",
        root.substr(0, root.find('/', 1)));
    return false;
  }
  int mine = calls.why_not().empty() ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, job.world);
  *why_not = calls.why_not().empty() && all == 0
                 ? "metadata operations were not counted: some ranks run without libweir_calls"
                 : calls.why_not();
  return all == 1;
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
  const auto folders = create_job_folders(job, core, "open", slugs);
  if (!folders) return refuse(folders.error());
  const std::string& root = folders.value().test_directory;

  FailureGuard guard(job, folders.value().root, slugs);
  guard.set_test_files({.directory = root, .paths = {}, .job_folders = {root}});
  const OwnCalls calls;
  Measurement measurement{
      .folders = folders.value(), .command = command, .calls = calls, .counts = false, .runs = {}};
  std::string why_not;
  measurement.counts = request.options.count && all_can_count(job, calls, root, &why_not);
  if (job.rank == 0) {
    auto runs = write_new_runs(folders.value(),
                               heads_of(job, request, expectations.value(), command), core);
    status = runs ? Status() : Status(runs.error());
    if (runs) measurement.runs = std::move(runs).value();
    for (ordered_json& run : measurement.runs) {
      if (!why_not.empty()) run["warnings"].push_back(why_not);
    }
  }
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, ordered_json::array()}, {});
  }
  const int exit_status = measure(job, guard, request, std::move(measurement));
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
  // Before MPI is there, which a program that starts again must not have begun.
  auto request = resolved ? request_of(std::move(resolved.value().settings))
                          : Result<Request>(resolved.error());
  if (request) {
    if (request.value().options.count) OwnCalls::load();
    Status chosen = choose_mpi_io(request.value().options.mpi_io);
    if (!chosen) request = chosen.error();
  }
  return run_under_mpi([&](int /*ranks*/) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!request) return rank == 0 ? complain(request.error()) : exit_usage;
    const Job job = Job::create(request.value().core.deadline_seconds);
    std::vector<std::string> command{"weir-bench", "open"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_in_job(job, request.value(), command);
  });
}

}  // namespace
}  // namespace weir::bench::opening

namespace weir::bench {

int run_open(const std::vector<std::string>& arguments) { return opening::run(arguments); }

}  // namespace weir::bench
