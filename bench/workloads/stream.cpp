#include "workloads/stream.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "common/settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/result.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/sweep.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/stream/channel.hpp"
#include "workloads/stream/execute.hpp"
#include "workloads/stream/ior_options.hpp"
#include "workloads/stream/parameters.hpp"
#include "workloads/stream/plan.hpp"
#include "workloads/stream/stream_run.hpp"

namespace weir::bench::stream {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench stream";
constexpr const char* description =
    "Writes and reads files in IOR's patterns. IOR's letters and -O directives are understood.";

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
  std::vector<Target> targets;
};

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  Request request;
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  request.core = std::move(core).value();
  auto options = options_of(settings, ranks);
  if (!options) return options.error();
  request.options = std::move(options).value();
  auto variants = variants_of(settings);
  if (!variants) return variants.error();
  request.variants = std::move(variants).value();
  for (const Variant& variant : request.variants) {
    if (Status status = check_available(variant.api); !status) return status.error();
  }
  Status fits = check_combination(request.options, request.core, request.variants, ranks);
  if (!fits) return fits.error();
  auto targets = targets_of(request.options);
  if (!targets) return targets.error();
  request.targets = std::move(targets).value();
  // What is said of the file system, and asked of it, is of where the files go.
  if (!request.targets.empty()) request.core.directory = request.targets.front().directory;
  request.settings = std::move(settings);
  return request;
}

// The settings as one configuration has them, under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, {"block", "transfer"});
  parameters["api"]["value"] = name_of(variant.api);
  parameters["pattern"]["value"] = name_of(variant.pattern);
  parameters["block_bytes"]["value"] = variant.block_bytes;
  parameters["transfer_bytes"]["value"] = variant.transfer_bytes;
  parameters["segments"]["value"] = variant.segments;
  parameters["queue_depth"]["value"] = variant.queue_depth;
  parameters["write"]["value"] = request.options.write;
  parameters["read"]["value"] = request.options.read;
  return parameters;
}

struct LargestNeeds {
  std::int64_t memory_bytes_per_rank = 0;
  std::int64_t disk_bytes = 0;
  std::int64_t transfer_bytes = 0;
};

LargestNeeds largest_needs(const Request& request, std::int64_t ranks) {
  LargestNeeds needs;
  for (const Variant& variant : request.variants) {
    const std::int64_t disk =
        request.options.write ? layout_of(variant, request.options, ranks).total_bytes() : 0;
    needs.memory_bytes_per_rank = std::max(needs.memory_bytes_per_rank,
                                           memory_bytes_per_rank(variant, request.options, ranks));
    needs.disk_bytes = std::max(needs.disk_bytes, disk);
    needs.transfer_bytes = std::max(needs.transfer_bytes, variant.transfer_bytes);
  }
  return needs;
}

// Every target takes its ranks' part; existing files need no further room. Local.
Status check_targets(const Request& request, std::int64_t ranks) {
  const LargestNeeds needs = largest_needs(request, ranks);
  if (Status status = check_directory(request.core.directory); !status) return status;
  if (request.options.use_existing) return {};
  const auto targets = static_cast<std::int64_t>(std::max<std::size_t>(1, request.targets.size()));
  for (std::int64_t i = 0; i < targets; ++i) {
    CoreSettings at = request.core;
    if (!request.targets.empty()) {
      at.directory = request.targets[static_cast<std::size_t>(i)].directory;
    }
    if (Status status = check_directory(at.directory); !status) return status;
    const std::int64_t mine = (ranks - i + targets - 1) / targets;
    const std::int64_t bytes = targets == 1 ? needs.disk_bytes : needs.disk_bytes / ranks * mine;
    if (Status status = check_disk(at, bytes); !status) return status;
  }
  return {};
}

int print_plan(const Settings& settings) {
  const auto ranks = ranks_to_plan_for(settings);
  if (!ranks) return complain(ranks.error());
  const auto request = request_of(settings, ranks.value());
  if (!request) return complain(request.error());
  const Request& r = request.value();
  if (Status status = check_targets(r, ranks.value()); !status) return complain(status.error());
  std::vector<PlannedConfiguration> configurations;
  configurations.reserve(r.variants.size());
  for (const Variant& variant : r.variants) {
    configurations.push_back({variant.label, variant.slug, false, own_parameters(r, variant),
                              plan_json(variant, r.options, r.targets, ranks.value())});
  }
  return print_planned(configurations, r.core.directory,
                       largest_needs(r, ranks.value()).transfer_bytes);
}

// Refuses what cannot work before anything is written. Collective; the same answer on every rank.
// On node leaders, `hog_bytes` is what --memory-hog takes there.
Status check_request(const Job& job, const Request& request, std::int64_t* hog_bytes) {
  int failed_rank = none_failed;
  Status status = job.rank == 0 ? check_targets(request, job.size) : Status();
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) return status;
  return check_needs(job, request.core, {largest_needs(request, job.size).memory_bytes_per_rank, 0},
                     hog_bytes);
}

std::vector<RunHead> heads_of(const Job& job, const Request& request,
                              const ordered_json& expectations,
                              const std::vector<std::string>& command) {
  std::vector<RunHead> heads;
  for (const Variant& variant : request.variants) {
    const std::string& slug = variant.slug;
    heads.push_back({.workload = "stream",
                     .slug = slug,
                     .label = variant.label,
                     .command = command,
                     .parameters = own_parameters(request, variant),
                     .plan = plan_json(variant, request.options, request.targets, job.size),
                     .expectation = expectations.contains(slug) ? expectations[slug] : nullptr});
  }
  return heads;
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
  Executor executor(job, guard, request.core, request.options, folders.test_directory);
  std::vector<std::unique_ptr<SweptRun>> runs;
  std::vector<const StreamRun*> printed;
  for (std::size_t i = 0; i < request.variants.size(); ++i) {
    const Variant& variant = request.variants[i];
    Configuration configuration{.variant = variant,
                                .layout = layout_of(variant, request.options, job.size),
                                .files = FileNames(request.options, variant, request.targets,
                                                   folders.test_directory, folders.id),
                                .payload_seed = folders.seed + i};
    auto run = std::make_unique<StreamRun>(
        std::move(configuration), request.options, executor,
        job.rank == 0 ? std::move(measurement.runs[i]) : ordered_json());
    printed.push_back(run.get());
    runs.push_back(std::move(run));
  }
  Sweep sweep({.job = job,
               .guard = guard,
               .core = request.core,
               .folders = folders,
               .directory = printed.front()->configuration().files.directories().front(),
               .command = measurement.command},
              std::move(runs));
  status = sweep.run();
  failed_rank = sweep.failed_rank();
  if (status.ok()) {
    if (job.rank == 0) {
      status =
          print_summary(job, folders, request.options, request.core, measurement.command, printed);
    }
    status = agree_on(job, std::move(status), &failed_rank);
  }
  if (status.ok()) return 0;
  return end_after_failure(
      job, guard,
      {status.error(), failed_rank, payload_errors(executor.payload_faults(), job.rank)},
      [&sweep](const ordered_json& errors) { return sweep.save_unfinished(errors); });
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
  const auto folders = create_job_folders(job, core, "stream", slugs);
  if (!folders) return refuse(folders.error());

  FailureGuard guard(job, folders.value().root, slugs);
  guard.set_test_files({folders.value().test_directory, {}});
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
    guard.set_test_files({folders.value().test_directory, {}});
    if (Status removed = guard.remove_test_files(); !removed) {
      fmt::print(stderr, "weir-bench: {}\n", removed.error().text());
    }
    fmt::print(stderr, "weir-bench: results in {}\n", folders.value().root);
  }
  return exit_status;
}

Result<ResolvedSettings> resolve(const std::vector<std::string>& arguments) {
  const std::vector<Setting> all = declarations();
  auto translated = translate_ior(all, arguments);
  if (!translated) return translated.error();
  return resolve_settings(program, description, all, translated.value(), process_environment);
}

int run(const std::vector<std::string>& arguments) {
  auto resolved = resolve(arguments);
  const bool only_prints =
      resolved && (resolved.value().help || resolved.value().settings.flag("plan"));
  if (only_prints) {
    if (resolved.value().help) {
      fmt::print("{}", *resolved.value().help);
      return 0;
    }
    return print_plan(resolved.value().settings);
  }

  return run_under_mpi([&](int ranks) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const auto request = resolved ? request_of(std::move(resolved.value().settings), ranks)
                                  : Result<Request>(resolved.error());
    if (!request) return rank == 0 ? complain(request.error()) : exit_usage;
    const Job job = Job::create(request.value().core.deadline_seconds);
    std::vector<std::string> command{"weir-bench", "stream"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_in_job(job, request.value(), command);
  });
}

}  // namespace
}  // namespace weir::bench::stream

namespace weir::bench {

int run_stream(const std::vector<std::string>& arguments) { return stream::run(arguments); }

}  // namespace weir::bench
