#include "workloads/array.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "common/settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/sweep.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/array/array_run.hpp"
#include "workloads/array/channel.hpp"
#include "workloads/array/execute.hpp"
#include "workloads/array/parameters.hpp"
#include "workloads/array/plan.hpp"

namespace weir::bench::array_io {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench array";
constexpr const char* description =
    "Writes and reads a distributed array, or a section of it, through one interface or several.";

struct Request {
  Settings settings;
  CoreSettings core;
  Geometry geometry;
  Options options;
  std::vector<Variant> variants;
};

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  auto geometry = geometry_of(settings, ranks);
  if (!geometry) return geometry.error();
  auto options = options_of(settings, geometry.value());
  if (!options) return options.error();
  auto variants = variants_of(settings);
  if (!variants) return variants.error();
  for (const Variant& variant : variants.value()) {
    if (Status status = check_available(variant.api); !status) return status.error();
  }
  Status fits =
      check_combination(geometry.value(), options.value(), core.value(), variants.value());
  if (!fits) return fits.error();
  if (const auto& directories = options.value().directories; !directories.empty()) {
    core.value().directory = directories.front();
    core.value().further_directories = {directories.begin() + 1, directories.end()};
  }
  return Request{std::move(settings), std::move(core).value(), std::move(geometry).value(),
                 std::move(options).value(), std::move(variants).value()};
}

// The settings as one configuration has them, under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, {"buffer"});
  const auto settled = [](const ordered_json& value) {
    return ordered_json{{"value", value}, {"origin", "default"}};
  };
  const Geometry& geometry = request.geometry;
  parameters["api"]["value"] = name_of(variant.api);
  parameters["write"]["value"] = request.options.write;
  parameters["read"]["value"] = request.options.read;
  // Once for all, at the end; and whether data change hosts on their way.
  parameters["sync_each"] = settled(false);
  parameters["collective"] = settled(variant.api != Api::posix && variant.api != Api::contiguous &&
                                     variant.api != Api::mpiio_independent);
  // As they were settled, where the command line leaves it open.
  const auto settle = [&](const char* name, const std::string& value) {
    if (!parameters.contains(name)) parameters[name] = settled(value);
    parameters[name]["value"] = value;
  };
  settle("grid", array::extents_text(geometry.writing.grid().extents));
  settle("read_grid", array::extents_text(geometry.reading.grid().extents));
  if (request.options.chunk) settle("chunk", array::extents_text(*request.options.chunk));
  return parameters;
}

// A file of the array, and one that --peak measures beside it; in each of several directories, its
// share.
std::int64_t disk_bytes(const Request& request) {
  const auto files = request.options.existing ? request.variants.size() : 1;
  const std::int64_t bytes = request.geometry.array_bytes() * static_cast<std::int64_t>(files);
  return bytes /
         static_cast<std::int64_t>(std::max<std::size_t>(1, request.options.directories.size()));
}

// Every directory is there and has room. Local.
Status check_directories(const Request& request) {
  CoreSettings at = request.core;
  for (std::size_t i = 0; i <= request.core.further_directories.size(); ++i) {
    if (i > 0) at.directory = request.core.further_directories[i - 1];
    if (Status status = check_directory(at.directory); !status) return status;
    if (Status status = check_disk(at, disk_bytes(request)); !status) return status;
  }
  return {};
}

int print_plan(const Settings& settings) {
  const auto ranks = ranks_to_plan_for(settings);
  if (!ranks) return complain(ranks.error());
  const auto request = request_of(settings, ranks.value());
  if (!request) return complain(request.error());
  const Request& r = request.value();
  if (Status status = check_directories(r); !status) return complain(status.error());
  std::vector<PlannedConfiguration> configurations;
  configurations.reserve(r.variants.size());
  for (const Variant& variant : r.variants) {
    configurations.push_back({variant.label, variant.slug, false, own_parameters(r, variant),
                              plan_json(r.geometry, r.options, variant, ranks.value())});
  }
  return print_planned(configurations, r.core.directory,
                       std::max<std::int64_t>(1, r.geometry.asked_bytes() / ranks.value()));
}

// Refuses what cannot work before anything is written. Collective; the same answer on every rank.
// On node leaders, `hog_bytes` is what --memory-hog takes there.
Status check_request(const Job& job, const Request& request, std::int64_t* hog_bytes) {
  int failed_rank = none_failed;
  Status status = job.rank == 0 ? check_directories(request) : Status();
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) return status;
  return check_needs(job, request.core,
                     {memory_bytes_per_rank(request.geometry), disk_bytes(request)}, hog_bytes);
}

std::vector<RunHead> heads_of(const Job& job, const Request& request,
                              const ordered_json& expectations,
                              const std::vector<std::string>& command) {
  std::vector<RunHead> heads;
  for (const Variant& variant : request.variants) {
    const std::string& slug = variant.slug;
    heads.push_back({.workload = "array",
                     .slug = slug,
                     .label = variant.label,
                     .command = command,
                     .parameters = own_parameters(request, variant),
                     .plan = plan_json(request.geometry, request.options, variant, job.size),
                     .expectation = expectations.contains(slug) ? expectations[slug] : nullptr});
  }
  return heads;
}

TestFiles test_files_of(const JobFolders& folders) {
  return {.directory = folders.test_directory,
          .paths = {},
          .rank_folders = {},
          .job_folders = folders.further_test_directories};
}

// What measure() needs besides the request.
struct Measurement {
  const JobFolders& folders;
  const std::vector<std::string>& command;
  std::vector<ordered_json> runs;  // run.json of each configuration so far; on rank 0
  std::int64_t hog_bytes = 0;
};

// Takes the memory, runs the sweep; when that fails, ends the run. Returns the exit status.
int measure(const Job& job, FailureGuard& guard, const Request& request, Measurement measurement) {
  const JobFolders& folders = measurement.folders;
  auto hog = MemoryHog::create(measurement.hog_bytes);
  int failed_rank = none_failed;
  Status status = agree_on(job, hog ? Status() : hog.error(), &failed_rank);
  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, ordered_json::array()}, {});
  }
  std::vector<std::string> test_directories = {folders.test_directory};
  test_directories.insert(test_directories.end(), folders.further_test_directories.begin(),
                          folders.further_test_directories.end());
  Executor executor(job, guard, request.core, request.geometry, request.options,
                    std::move(test_directories));
  std::vector<std::unique_ptr<ArrayRun>> runs;
  for (std::size_t i = 0; i < request.variants.size(); ++i) {
    const Variant& variant = request.variants[i];
    runs.push_back(std::make_unique<ArrayRun>(
        Configuration{.variant = variant,
                      .path = fmt::format("{}/weir-{}", folders.test_directory, variant.slug),
                      .payload_seed = folders.seed + i},
        request.options, executor, folders.test_directory,
        job.rank == 0 ? std::move(measurement.runs[i]) : ordered_json()));
  }
  std::vector<const ArrayRun*> printed;
  std::vector<std::unique_ptr<SweptRun>> swept;
  printed.reserve(runs.size());
  swept.reserve(runs.size());
  for (auto& run : runs) {
    if (request.options.peak) run->hold_against(runs.back().get());
    printed.push_back(run.get());
  }
  for (auto& run : runs) swept.push_back(std::move(run));
  Sweep sweep({.job = job,
               .guard = guard,
               .core = request.core,
               .folders = folders,
               .directory = folders.test_directory,
               .command = measurement.command},
              std::move(swept));
  status = sweep.run();
  failed_rank = sweep.failed_rank();
  if (status.ok()) {
    status = executor.close();
    failed_rank = executor.failed_rank();
  }
  if (!status) {
    return end_after_failure(
        job, guard,
        {status.error(), failed_rank, payload_errors(executor.payload_faults(), job.rank)},
        [&sweep](const ordered_json& errors) { return sweep.save_unfinished(errors); });
  }
  if (job.rank == 0) {
    fmt::print("{}", table(request.geometry, printed));
    std::fflush(stdout);
  }
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
  std::int64_t hog_bytes = 0;
  Status status = check_request(job, request, &hog_bytes);
  if (!status) return refuse(status.error());
  const auto expectations = read_expectations(core.expectation);
  if (!expectations) return refuse(expectations.error());
  const auto folders = create_job_folders(job, core, "array", slugs);
  if (!folders) return refuse(folders.error());

  FailureGuard guard(job, folders.value().root, slugs);
  guard.set_test_files(test_files_of(folders.value()));
  Measurement measurement{
      .folders = folders.value(), .command = command, .runs = {}, .hog_bytes = hog_bytes};
  if (job.rank == 0) {
    auto runs = write_new_runs(folders.value(),
                               heads_of(job, request, expectations.value(), command), core);
    if (runs) {
      measurement.runs = std::move(runs).value();
    } else {
      status = runs.error();
    }
  }
  int failed_rank = none_failed;
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, ordered_json::array()}, {});
  }
  const int exit_status = measure(job, guard, request, std::move(measurement));
  if (exit_status == 0 && job.rank == 0) {
    // With --existing the files of the last repetition are still there.
    guard.set_test_files(test_files_of(folders.value()));
    if (Status removed = guard.remove_test_files(); !removed) {
      fmt::print(stderr, "weir-bench: {}\n", removed.error().text());
    }
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
    const auto request = resolved ? request_of(std::move(resolved.value().settings), ranks)
                                  : Result<Request>(resolved.error());
    if (!request) return rank == 0 ? complain(request.error()) : exit_usage;
    const Job job = Job::create(request.value().core.deadline_seconds);
    std::vector<std::string> command{"weir-bench", "array"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_in_job(job, request.value(), command);
  });
}

}  // namespace
}  // namespace weir::bench::array_io

namespace weir::bench {

int run_array(const std::vector<std::string>& arguments) { return array_io::run(arguments); }

}  // namespace weir::bench
