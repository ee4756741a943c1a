#include "workloads/madbench.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/settings.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/result.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/madbench/buffers.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/full/full_work.hpp"
#include "workloads/madbench/full/madcap_work.hpp"
#include "workloads/madbench/full/scalapack.hpp"
#include "workloads/madbench/io_work.hpp"
#include "workloads/madbench/plan.hpp"
#include "workloads/madbench/request.hpp"
#include "workloads/madbench/sweep.hpp"

namespace weir::bench::madbench {
namespace {

using nlohmann::ordered_json;

constexpr Program madbench_program = {
    "madbench", "weir-bench madbench",
    "MADbench2: functions S, W and C on out-of-core matrices; with --full, S, D, W and C.", false};
constexpr Program madcap_program = {
    "madcap", "weir-bench madcap",
    "MADCAP: the spectrum of a simulated map by Newton-Raphson iteration, out of core.", true};

// Returns one configuration's settings: for a list, the configuration's own value.
ordered_json own_parameters(const Settings& settings, const Variant& variant) {
  ordered_json parameters = parameters_json(settings);
  parameters["iomethod"]["value"] = name_of(variant.method);
  parameters["iomode"]["value"] = name_of(variant.mode);
  parameters["filetype"]["value"] = name_of(variant.file_type);
  // The paths at which the program reads and writes its own files are no parameters of the
  // measurement.
  for (const char* own_file : {"expectation", "output", "plan", "progress", "ranks"}) {
    parameters.erase(own_file);
  }
  return parameters;
}

int print_plan(const Program& program, const Settings& settings) {
  const auto ranks = ranks_to_plan_for(settings);
  if (!ranks) return complain(ranks.error());
  const auto request = request_of(program, settings, ranks.value());
  if (!request) return complain(request.error());
  const Request& r = request.value();
  if (Status status = check_directory(r.core.directory, r.core.striping); !status)
    return complain(status.error());
  // Memory is not checked here, because the nodes may be other machines than this one.
  const auto layout = Layout::create(r.size, r.variants.front().file_type);
  if (!layout) return complain(layout.error());
  if (Status status = check_disk(r.core, layout.value().disk_bytes()); !status) {
    return complain(status.error());
  }
  std::vector<PlannedConfiguration> configurations;
  configurations.reserve(r.variants.size());
  std::int64_t transfer_bytes = 0;
  for (const Variant& variant : r.variants) {
    const auto one = plan_json(r.size, variant, r.alpha, r.calculation);
    if (!one) return complain(one.error());
    for (const ordered_json& phase : one.value()["phases"]) {
      transfer_bytes = std::max(transfer_bytes, phase["bytes_per_operation"].get<std::int64_t>());
    }
    configurations.push_back({label_of(variant), slug_of(variant), variant.mode == Mode::async,
                              own_parameters(r.settings, variant), one.value()});
  }
  return print_planned(configurations, r.core, transfer_bytes, {});
}

// Returns the test files that this rank removes if the run breaks off (failure.hpp).
TestFiles test_files(const Job& job, const JobFolders& folders,
                     const std::vector<Variant>& variants) {
  TestFiles files{folders.test_directory, {}};
  for (const Variant& variant : variants) {
    // The names do not depend on the layout.
    const Configuration names{.variant = variant,
                              .layout = {},
                              .label = {},
                              .slug = slug_of(variant),
                              .directory = folders.test_directory};
    for (const int step : {0, 1, job.size - 1}) {
      files.paths.push_back(names.file_of((job.rank + step) % job.size));
    }
  }
  return files;
}

// Fails for a request that cannot work, before anything is written. Collective; all ranks return
// the same status. On node leaders, `hog_bytes` becomes the memory that --memory-hog occupies on
// that node.
Status check_request(const Job& job, const Request& request, const Layout& layout,
                     std::int64_t* hog_bytes) {
  int failed_rank = none_failed;
  Status status =
      job.rank == 0 ? check_directory(request.core.directory, request.core.striping) : Status();
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) return status;
  return check_needs(job, request.core, {layout.memory_bytes_per_rank(), layout.disk_bytes()},
                     hog_bytes);
}

// Writes the run.json of every variant before the first repetition. On rank 0.
Result<std::vector<ordered_json>> write_new_runs(const Program& program, const Request& request,
                                                 const JobFolders& folders,
                                                 const ordered_json& expectations,
                                                 const std::vector<std::string>& command) {
  std::vector<ordered_json> runs;
  for (const Variant& variant : request.variants) {
    const std::string slug = slug_of(variant);
    runs.push_back(new_run(
        folders,
        {.workload = program.workload,
         .slug = slug,
         .label = label_of(variant),
         .command = command,
         .parameters = own_parameters(request.settings, variant),
         .plan = plan_json(request.size, variant, request.alpha, request.calculation).value(),
         .expectation = expectations.contains(slug) ? expectations[slug] : nullptr},
        request.core));
    if (Status status = write_file_atomically(fmt::format("{}/{}/run.json", folders.root, slug),
                                              runs.back().dump(1) + "\n");
        !status) {
      return status.error();
    }
  }
  return runs;
}

// Makes the work between the transfers. Collective over the job for full mode and madcap. Loading
// ScaLAPACK may fail on some ranks only.
Result<std::unique_ptr<Work>> make_work(const Job& job, FailureGuard& guard, const Request& request,
                                        Buffers& buffers) {
  if (request.calculation == Calculation::busy_work) {
    return std::unique_ptr<Work>(std::make_unique<IoWork>(
        request.size, request.alpha, request.core.compressible_percent, buffers));
  }
  const auto functions = load_scalapack();
  int failed_rank = none_failed;
  Status status = agree_on(job, functions ? Status() : Status(functions.error()), &failed_rank);
  if (!status) return status.error();
  const FullInputs inputs{.job = job,
                          .guard = guard,
                          .size = request.size,
                          .remap_by_scalapack = request.settings.text("remap") == "SCALAPACK",
                          .functions = *functions.value(),
                          .buffers = buffers};
  if (request.calculation == Calculation::full) {
    return std::unique_ptr<Work>(
        std::make_unique<FullWork>(inputs, madbench_analysis(request.size)));
  }
  auto madcap = std::make_unique<MadcapWork>(inputs, request.madcap);
  if (status = madcap->simulate(); !status) return status.error();
  return std::unique_ptr<Work>(std::move(madcap));
}

// Allocates the memory and runs the sweep. If the sweep fails, ends the run. Returns the exit
// status.
int measure(const Job& job, FailureGuard& guard, const Request& request, const Layout& layout,
            std::int64_t hog_bytes, SweepInputs inputs) {
  auto hog = MemoryHog::create(hog_bytes);
  Status status = hog ? Status() : hog.error();
  auto buffers = Buffers::create(std::max(layout.largest_share_bytes(GangLevel::all_ranks),
                                          layout.largest_share_bytes(GangLevel::gang)));
  if (!buffers && status.ok()) status = buffers.error();
  int failed_rank = none_failed;
  status = agree_on(job, std::move(status), &failed_rank);
  std::unique_ptr<Work> work;
  if (status.ok()) {
    auto made = make_work(job, guard, request, buffers.value());
    if (made) {
      work = std::move(made).value();
    } else {
      status = made.error();
    }
    status = agree_on(job, std::move(status), &failed_rank);
  }
  if (!status) {
    if (work) work->abandon();
    return end_after_failure(job, guard, {status.error(), failed_rank, ordered_json::array()}, {});
  }
  Executor executor(job, guard, request.core, request.size, *work);
  Sweep sweep(std::move(inputs), executor);
  status = sweep.run();
  if (status.ok()) return 0;
  work->abandon();
  return end_after_failure(
      job, guard,
      {status.error(), sweep.failed_rank(), payload_errors(executor.payload_faults(), job.rank)},
      [&sweep](const ordered_json& errors) { return sweep.save_unfinished(errors); });
}

int run_in_job(const Job& job, const Program& program, const Request& request,
               const std::vector<std::string>& command) {
  const CoreSettings& core = request.core;
  std::vector<std::string> slugs;
  slugs.reserve(request.variants.size());
  for (const Variant& variant : request.variants) slugs.push_back(slug_of(variant));
  const auto refuse = [&](const Error& error) {
    if (job.rank == 0) complain(error);
    return exit_usage;
  };

  // Both file types need the same memory and disk.
  const auto layout = Layout::create(request.size, request.variants.front().file_type);
  if (!layout) return refuse(layout.error());
  std::int64_t hog_bytes = 0;
  Status status = check_request(job, request, layout.value(), &hog_bytes);
  if (!status) return refuse(status.error());
  const auto expectations = read_expectations(core.expectation);
  if (!expectations) return refuse(expectations.error());
  const auto folders = create_job_folders(job, core, program.workload, slugs);
  if (!folders) return refuse(folders.error());

  FailureGuard guard(job, folders.value().root, slugs);
  guard.set_test_files(test_files(job, folders.value(), request.variants));
  SweepInputs inputs{.job = job,
                     .guard = guard,
                     .core = core,
                     .folders = folders.value(),
                     .size = request.size,
                     .variants = request.variants,
                     .remap = request.settings.text("remap"),
                     .alpha = request.alpha,
                     .is_full = request.calculation != Calculation::busy_work,
                     .runs = {},
                     .command = command};
  if (job.rank == 0) {
    auto runs = write_new_runs(program, request, folders.value(), expectations.value(), command);
    if (runs) {
      inputs.runs = std::move(runs).value();
    } else {
      status = runs.error();
    }
  }
  int failed_rank = none_failed;
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, ordered_json::array()}, {});
  }
  const int exit_status =
      measure(job, guard, request, layout.value(), hog_bytes, std::move(inputs));
  if (exit_status == 0 && job.rank == 0) {
    if (Status removed = guard.remove_test_files(); !removed) {
      fmt::print(stderr, "weir-bench: {}\n", removed.error().text());
    }
    fmt::print(stderr, "weir-bench: results in {}\n", folders.value().root);
  }
  return exit_status;
}

int run(const Program& program, const std::vector<std::string>& arguments) {
  auto resolved = resolve_settings(program.title, program.description, declarations_of(program),
                                   arguments, process_environment);
  const bool only_prints =
      resolved && (resolved.value().help || resolved.value().settings.flag("plan"));
  if (only_prints) {
    if (resolved.value().help) {
      fmt::print("{}", *resolved.value().help);
      return 0;
    }
    return print_plan(program, resolved.value().settings);
  }

  return run_under_mpi([&](int ranks) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const auto request = resolved ? request_of(program, std::move(resolved.value().settings), ranks)
                                  : Result<Request>(resolved.error());
    if (!request) return rank == 0 ? complain(request.error()) : exit_usage;
    const Job job = Job::create(request.value().core.deadline_seconds);
    std::vector<std::string> command{"weir-bench", program.workload};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_in_job(job, program, request.value(), command);
  });
}

}  // namespace
}  // namespace weir::bench::madbench

namespace weir::bench {

int run_madbench(const std::vector<std::string>& arguments) {
  return madbench::run(madbench::madbench_program, arguments);
}

int run_madcap(const std::vector<std::string>& arguments) {
  return madbench::run(madbench::madcap_program, arguments);
}

}  // namespace weir::bench
