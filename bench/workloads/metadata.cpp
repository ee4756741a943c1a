#include "workloads/metadata.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "common/clock.hpp"
#include "common/settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/sweep.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/metadata/execute.hpp"
#include "workloads/metadata/item_ring.hpp"
#include "workloads/metadata/mdtest_options.hpp"
#include "workloads/metadata/metarates_options.hpp"
#include "workloads/metadata/parameters.hpp"
#include "workloads/metadata/plan.hpp"
#include "workloads/metadata/results.hpp"
#include "workloads/metadata/table.hpp"

namespace weir::bench::metadata {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench metadata";
constexpr const char* description =
    "Creates, looks up, changes and removes files and directories. With --mdtest-compat, mdtest's "
    "options are understood and its table is printed; --metarates-compat: metarates'.";
constexpr const char* kept_folder = "weir-metadata";

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
};

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  auto options = options_of(settings);
  if (!options) return options.error();
  auto variants = variants_of(settings, ranks);
  if (!variants) return variants.error();
  Status fits = check_combination(options.value(), core.value(), variants.value());
  if (!fits) return fits.error();
  return Request{std::move(settings), std::move(core).value(), std::move(options).value(),
                 std::move(variants).value()};
}

// The settings as one configuration has them, under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters =
      result_parameters(request.settings, {"bytes", "read-bytes", "truncate-to"});
  parameters["api"]["value"] = name_of(variant.api);
  parameters["sharing"]["value"] = name_of(variant.shape.sharing);
  return parameters;
}

Status check_room(const Request& request) {
  if (Status status = check_directory(request.core.directory); !status) return status;
  if (request.options.existing) return {};
  std::int64_t bytes = 0;
  for (const Variant& variant : request.variants) {
    bytes = std::max(bytes, disk_bytes(variant, request.options));
  }
  return check_disk(request.core, bytes);
}

// Whether io_uring has what it is asked for, on this rank's node.
Status check_ring(const Request& request) {
  for (const Variant& variant : request.variants) {
    if (variant.api != Api::ring) continue;
    const auto ring = make_item_ring(1, actions_on(request.options, variant));
    return ring ? Status() : Status(ring.error());
  }
  return {};
}

int print_plan(const Settings& settings) {
  const auto ranks = ranks_to_plan_for(settings);
  if (!ranks) return complain(ranks.error());
  const auto request = request_of(settings, ranks.value());
  if (!request) return complain(request.error());
  const Request& r = request.value();
  if (Status status = check_room(r); !status) return complain(status.error());
  std::vector<PlannedConfiguration> configurations;
  configurations.reserve(r.variants.size());
  for (const Variant& variant : r.variants) {
    configurations.push_back({variant.label, variant.slug, false, own_parameters(r, variant),
                              plan_json(variant, r.options)});
  }
  return print_planned(configurations, r.core.directory, 0);
}

// Where the trees lie: in the job's own folder, or where they outlive it. On rank 0.
std::string root_of(const Request& request, const JobFolders& folders) {
  if (!request.options.keep && !request.options.existing) return folders.test_directory;
  const std::filesystem::path directory =
      std::filesystem::absolute(request.core.directory).lexically_normal();
  return (directory / kept_folder).string();
}

Status make_root(const Request& request, const std::string& root) {
  if (request.options.existing) {
    struct stat found {};
    if (stat(root.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return {};
    return invalid_argument(fmt::format(
        "--existing: there is no {}; make it by a run with --keep (mdtest's -C)", root));
  }
  if (!request.options.keep || mkdir(root.c_str(), 0755) == 0) return {};
  if (errno != EEXIST) return system_failure("mkdir", root, -1, errno);
  return invalid_argument(fmt::format(
      "--keep: {} is there already, from an earlier run; use it with --existing, or remove it",
      root));
}

// Whether the file system has extended attributes; looked at where `all` asked for them.
bool has_attributes(const std::string& root) {
  return setxattr(root.c_str(), attribute_name, attribute_value, sizeof attribute_value, 0) == 0;
}

// Leaves setxattr and getxattr out of `all` where they cannot be. Collective; whether it did.
bool leave_out_attributes(const Job& job, const std::string& root, Options* options) {
  const auto asked = [&](Action action) {
    return std::count(options->actions.begin(), options->actions.end(), action) > 0 &&
           std::count(options->named.begin(), options->named.end(), action) == 0;
  };
  if (!asked(Action::setxattr) && !asked(Action::getxattr)) return false;
  int there = job.rank == 0 && has_attributes(root) ? 1 : 0;
  MPI_Bcast(&there, 1, MPI_INT, 0, job.world);
  if (there != 0) return false;
  for (const Action action : {Action::setxattr, Action::getxattr}) {
    if (asked(action)) std::erase(options->actions, action);
  }
  return true;
}

std::vector<RunHead> heads_of(const Request& request, const ordered_json& expectations,
                              const std::vector<std::string>& command) {
  std::vector<RunHead> heads;
  for (const Variant& variant : request.variants) {
    const std::string& slug = variant.slug;
    heads.push_back({.workload = "metadata",
                     .slug = slug,
                     .label = variant.label,
                     .command = command,
                     .parameters = own_parameters(request, variant),
                     .plan = plan_json(variant, request.options),
                     .expectation = expectations.contains(slug) ? expectations[slug] : nullptr});
  }
  return heads;
}

std::vector<TableRow> rows_of(const MetadataRun& run) {
  std::vector<TableRow> rows;
  for (const ActionHistory& history : run.history()) {
    TableRow row;
    row.measured = history.measured;
    for (const PhaseRates& one : history.repetitions) {
      row.operations = one.operations;
      row.barrier_rates.push_back(one.barrier);
      row.barrier_seconds.push_back(one.barrier_seconds);
      row.slowest_rank_rates.push_back(one.slowest_rank);
      row.slowest_rank_seconds.push_back(one.slowest_seconds);
      row.summed_rates.push_back(one.sum_of_ranks);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// "11/21/2026 23:05:01" of "2026-11-21T23:05:01Z".
std::string mdtest_time(const std::string& utc) {
  constexpr std::size_t whole = 20;
  if (utc.size() < whole) return utc;
  return fmt::format("{}/{}/{} {}", utc.substr(5, 2), utc.substr(8, 2), utc.substr(0, 4),
                     utc.substr(11, 8));
}

void print_tables(const Job& job, const Request& request, const JobFolders& folders,
                  const std::string& root, const std::vector<std::string>& command,
                  const std::vector<const MetadataRun*>& runs) {
  const Options& options = request.options;
  for (const MetadataRun* run : runs) {
    const TreeShape& shape = run->variant().shape;
    if (options.metarates) {
      fmt::print("{}\n", metarates_table({.path = root,
                                          .ranks = job.size,
                                          .files_per_rank = shape.items(0),
                                          .unique_directories = shape.sharing == Sharing::per_rank},
                                         rows_of(*run)));
      continue;
    }
    if (!options.mdtest_rates && !options.mdtest_times) {
      fmt::print("{}\n", weir_table(run->label(), rows_of(*run)));
      continue;
    }
    const bool one_file = shape.sharing == Sharing::one_file;
    const bool directories = options.directories && !one_file;
    std::string line;
    for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
    fmt::print("{}", mdtest_table({.began = mdtest_time(folders.started_utc),
                                   .finished = mdtest_time(utc_now()),
                                   .path = root,
                                   .command = line,
                                   .ranks = job.size,
                                   .nodes = job.nodes,
                                   .items = shape.all_items(),
                                   .files = options.files,
                                   .directories = directories},
                                  rows_of(*run), options.mdtest_rates, options.mdtest_times));
  }
  std::fflush(stdout);
}

// What measure() needs besides the request.
struct Measurement {
  const JobFolders& folders;
  const std::vector<std::string>& command;
  std::string root;
  std::vector<ordered_json> runs;  // run.json of each configuration so far; on rank 0
};

// Runs the sweep; when that fails, ends the run. Returns the exit status.
int measure(const Job& job, FailureGuard& guard, const Request& request, Measurement measurement) {
  const JobFolders& folders = measurement.folders;
  Executor executor(job, guard, request.core, request.options, measurement.root, folders.seed);
  std::vector<std::unique_ptr<SweptRun>> runs;
  std::vector<const MetadataRun*> printed;
  for (std::size_t i = 0; i < request.variants.size(); ++i) {
    auto run = std::make_unique<MetadataRun>(
        request.variants[i], request.options, executor,
        job.rank == 0 ? std::move(measurement.runs[i]) : ordered_json());
    printed.push_back(run.get());
    runs.push_back(std::move(run));
  }
  Sweep sweep({.job = job,
               .guard = guard,
               .core = request.core,
               .folders = folders,
               .directory = measurement.root,
               .command = measurement.command},
              std::move(runs));
  if (Status status = sweep.run(); !status) {
    return end_after_failure(
        job, guard, {status.error(), sweep.failed_rank(), ordered_json::array()},
        [&sweep](const ordered_json& errors) { return sweep.save_unfinished(errors); });
  }
  if (job.rank == 0) {
    print_tables(job, request, folders, measurement.root, measurement.command, printed);
  }
  return 0;
}

// The folder of the job, and what earlier runs had kept and this one has emptied.
void remove_folders(FailureGuard& guard, const Request& request, const JobFolders& folders,
                    const std::string& root) {
  if (request.options.existing && rmdir(root.c_str()) != 0 && errno != ENOTEMPTY) {
    fmt::print(stderr, "weir-bench: {}\n", system_failure("rmdir", root, -1, errno).text());
  }
  guard.set_test_files({folders.test_directory, {}});
  if (Status removed = guard.remove_test_files(); !removed) {
    fmt::print(stderr, "weir-bench: {}\n", removed.error().text());
  }
}

int run_in_job(const Job& job, Request request, const std::vector<std::string>& command) {
  const CoreSettings& core = request.core;
  std::vector<std::string> slugs;
  slugs.reserve(request.variants.size());
  for (const Variant& variant : request.variants) slugs.push_back(variant.slug);
  const auto refuse = [&](const Error& error) {
    if (job.rank == 0) complain(error);
    return exit_usage;
  };
  int failed_rank = none_failed;
  Status status = agree_on(job, job.rank == 0 ? check_room(request) : Status(), &failed_rank);
  if (!status) return refuse(status.error());
  status = agree_on(job, check_ring(request), &failed_rank);
  if (!status) return refuse(status.error());
  const auto expectations = read_expectations(core.expectation);
  if (!expectations) return refuse(expectations.error());
  const auto folders = create_job_folders(job, core, "metadata", slugs);
  if (!folders) return refuse(folders.error());
  const std::string root = root_of(request, folders.value());

  FailureGuard guard(job, folders.value().root, slugs);
  TestFiles own{folders.value().test_directory, {}};
  guard.set_test_files(own);
  status = agree_on(job, job.rank == 0 ? make_root(request, root) : Status(), &failed_rank);
  // What earlier runs kept is not this one's to remove.
  if (status.ok() && !request.options.existing) own.job_folders = {root};
  guard.set_test_files(own);
  const bool no_attributes =
      status.ok() && leave_out_attributes(job, folders.value().test_directory, &request.options);
  Measurement measurement{.folders = folders.value(), .command = command, .root = root, .runs = {}};
  if (status.ok() && job.rank == 0) {
    auto runs =
        write_new_runs(folders.value(), heads_of(request, expectations.value(), command), core);
    if (runs) {
      measurement.runs = std::move(runs).value();
    } else {
      status = runs.error();
    }
    for (ordered_json& run : measurement.runs) {
      if (!no_attributes) break;
      run["warnings"].push_back(
          "setxattr and getxattr were left out: the file system has no user attributes");
    }
  }
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, ordered_json::array()}, {});
  }
  const int exit_status = measure(job, guard, request, std::move(measurement));
  if (exit_status == 0 && job.rank == 0) {
    remove_folders(guard, request, folders.value(), root);
    fmt::print(stderr, "weir-bench: results in {}\n", folders.value().root);
  }
  return exit_status;
}

Result<ResolvedSettings> resolve(const std::vector<std::string>& arguments) {
  auto renamed = translate_mdtest(arguments);
  if (!renamed) return renamed.error();
  auto translated = translate_metarates(renamed.value());
  if (!translated) return translated.error();
  return resolve_settings(program, description, declarations(), translated.value(),
                          process_environment);
}

int run(const std::vector<std::string>& arguments) {
  auto resolved = resolve(arguments);
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
    std::vector<std::string> command{"weir-bench", "metadata"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_in_job(job, std::move(request).value(), command);
  });
}

}  // namespace
}  // namespace weir::bench::metadata

namespace weir::bench {

int run_metadata(const std::vector<std::string>& arguments) { return metadata::run(arguments); }

}  // namespace weir::bench
