#include "workloads/madbench.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/settings.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/result.hpp"
#include "measurement/run_folder.hpp"
#include "workloads/madbench/buffers.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/io_work.hpp"
#include "workloads/madbench/parameters.hpp"
#include "workloads/madbench/plan.hpp"
#include "workloads/madbench/sweep.hpp"

namespace weir::bench::madbench {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench madbench";
constexpr const char* description =
    "MADbench2 in I/O mode: functions S, W and C on out-of-core matrices.";

struct Request {
  Settings settings;
  CoreSettings core;
  Size size;
  std::vector<Variant> variants;
  double alpha = 0;
};

std::vector<Setting> all_declarations() {
  std::vector<Setting> all = declarations();
  for (Setting& setting : core_declarations()) all.push_back(std::move(setting));
  return all;
}

Status check_direct(const Request& request) {
  if (!request.core.direct) return {};
  constexpr std::int64_t alignment = 4096;
  if (request.size.fblocksize % alignment != 0) {
    return invalid_argument(fmt::format("--direct: FBLOCKSIZE must be a multiple of {}; given: {}",
                                        alignment, request.size.fblocksize));
  }
  for (const Variant& variant : request.variants) {
    if (variant.method == Method::mpi) {
      return invalid_argument(
          "--direct: MPI-IO has no portable O_DIRECT; use it with IOMETHOD = POSIX");
    }
  }
  return {};
}

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  Request request;
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  request.core = std::move(core).value();
  auto size = size_of(settings, ranks);
  if (!size) return size.error();
  request.size = size.value();
  request.variants = variants_of(settings);
  if (settings.has("busy-work-exponent")) {
    request.alpha = settings.real("busy-work-exponent");
    if (request.alpha <= 0 || request.alpha > 3) {
      return invalid_argument(
          fmt::format("BWEXP (--busy-work-exponent) must lie above 0 and not above 3; given: {}",
                      request.alpha));
    }
  }
  request.settings = std::move(settings);
  if (Status status = check_direct(request); !status) return status.error();
  return request;
}

// A wrong request is wrong on every rank alike: the line names none.
int complain(Error error) {
  error.rank = -1;
  fmt::print(stderr, "weir-bench: {}\n", error.text());
  return exit_usage;
}

// The settings as one configuration has them: of a list, its own value.
ordered_json own_parameters(const Settings& settings, const Variant& variant) {
  ordered_json parameters = parameters_json(settings);
  parameters["iomethod"]["value"] = name_of(variant.method);
  parameters["iomode"]["value"] = name_of(variant.mode);
  parameters["filetype"]["value"] = name_of(variant.file_type);
  // Where the program reads and writes its own files says nothing of the measurement.
  for (const char* own_file : {"expectation", "output", "plan", "progress", "ranks"}) {
    parameters.erase(own_file);
  }
  return parameters;
}

int print_plan(const Settings& settings) {
  if (!settings.has("ranks")) {
    return complain(invalid_argument("--plan needs --ranks N, the number of ranks to plan for"));
  }
  const auto request = request_of(settings, settings.integer("ranks"));
  if (!request) return complain(request.error());
  const Request& r = request.value();
  if (Status status = check_directory(r.core.directory); !status) return complain(status.error());
  // Memory is the business of the nodes, which may be other machines than this one.
  const auto layout = Layout::create(r.size, r.variants.front().file_type);
  if (!layout) return complain(layout.error());
  if (Status status = check_disk(r.core, layout.value().disk_bytes()); !status) {
    return complain(status.error());
  }
  ordered_json plan;
  plan["configurations"] = ordered_json::array();
  std::int64_t transfer_bytes = 0;
  for (const Variant& variant : r.variants) {
    const auto one = plan_json(r.size, variant, r.alpha);
    if (!one) return complain(one.error());
    for (const ordered_json& phase : one.value()["phases"]) {
      transfer_bytes = std::max(transfer_bytes, phase["bytes_per_operation"].get<std::int64_t>());
    }
    plan["configurations"].push_back({{"label", label_of(variant)},
                                      {"slug", slug_of(variant)},
                                      {"asynchronous", variant.mode == Mode::async},
                                      {"parameters", own_parameters(r.settings, variant)},
                                      {"plan", one.value()}});
  }
  plan["directory"] = std::filesystem::absolute(r.core.directory).lexically_normal().string();
  plan["transfer_bytes"] = transfer_bytes;
  fmt::print("{}\n", plan.dump(2));
  return 0;
}

// The test files that this rank removes when the run breaks off (failure.hpp).
TestFiles test_files(const Job& job, const JobFolders& folders,
                     const std::vector<Variant>& variants) {
  TestFiles files{folders.test_directory, {}};
  for (const Variant& variant : variants) {
    // The layout plays no part in the names.
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

ordered_json payload_errors(const std::vector<PayloadFault>& faults, int rank) {
  ordered_json errors = ordered_json::array();
  for (const PayloadFault& fault : faults) {
    errors.push_back({{"kind", name_of(fault.mismatch.kind)},
                      {"file", fault.file},
                      {"offset_bytes", fault.mismatch.first_byte},
                      {"rank", rank},
                      {"repetition", fault.repetition},
                      {"function", name_of(fault.function)},
                      {"bytes_wrong", fault.mismatch.bytes_wrong},
                      {"text", fault.mismatch.text}});
  }
  return errors;
}

// Refuses what cannot work before anything is written. Collective; the same answer on every rank.
// On node leaders, `hog_bytes` is what --memory-hog takes there.
Status check_request(const Job& job, const Request& request, const Layout& layout,
                     std::int64_t* hog_bytes) {
  int failed_rank = none_failed;
  Status status = job.rank == 0 ? check_directory(request.core.directory) : Status();
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) return status;
  return check_needs(job, request.core, {layout.memory_bytes_per_rank(), layout.disk_bytes()},
                     hog_bytes);
}

// run.json of every variant before the first repetition. On rank 0.
Result<std::vector<ordered_json>> write_new_runs(const Request& request, const JobFolders& folders,
                                                 const ordered_json& expectations,
                                                 const std::vector<std::string>& command) {
  std::vector<ordered_json> runs;
  for (const Variant& variant : request.variants) {
    const std::string slug = slug_of(variant);
    runs.push_back(
        new_run(folders,
                {.workload = "madbench",
                 .slug = slug,
                 .label = label_of(variant),
                 .command = command,
                 .parameters = own_parameters(request.settings, variant),
                 .plan = plan_json(request.size, variant, request.alpha).value(),
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

// Takes the memory, runs the sweep; when that fails, ends the run. Returns the exit status.
int measure(const Job& job, FailureGuard& guard, const Request& request, const Layout& layout,
            std::int64_t hog_bytes, SweepInputs inputs) {
  auto hog = MemoryHog::create(hog_bytes);
  Status status = hog ? Status() : hog.error();
  auto buffers = Buffers::create(std::max(layout.largest_share_bytes(GangLevel::all_ranks),
                                          layout.largest_share_bytes(GangLevel::gang)));
  if (!buffers && status.ok()) status = buffers.error();
  int failed_rank = none_failed;
  status = agree_on(job, std::move(status), &failed_rank);
  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, ordered_json::array()}, {});
  }
  IoWork work(request.size, request.alpha, request.core.compressible_percent, buffers.value());
  Executor executor(job, guard, request.core, request.size, work);
  Sweep sweep(std::move(inputs), executor);
  status = sweep.run();
  if (status.ok()) return 0;
  return end_after_failure(
      job, guard,
      {status.error(), sweep.failed_rank(), payload_errors(executor.payload_faults(), job.rank)},
      [&sweep](const ordered_json& errors) { return sweep.save_unfinished(errors); });
}

int run_in_job(const Job& job, const Request& request, const std::vector<std::string>& command) {
  const CoreSettings& core = request.core;
  std::vector<std::string> slugs;
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
  const auto folders = create_job_folders(job, core, "madbench", slugs);
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
                     .runs = {},
                     .command = command};
  if (job.rank == 0) {
    auto runs = write_new_runs(request, folders.value(), expectations.value(), command);
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

int run(const std::vector<std::string>& arguments) {
  auto resolved =
      resolve_settings(program, description, all_declarations(), arguments, process_environment);
  const bool only_prints =
      resolved && (resolved.value().help || resolved.value().settings.flag("plan"));
  if (only_prints) {
    if (resolved.value().help) {
      fmt::print("{}", *resolved.value().help);
      return 0;
    }
    return print_plan(resolved.value().settings);
  }

  prepare_signals();
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  int status = exit_usage;
  {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto request = resolved ? request_of(std::move(resolved.value().settings), ranks)
                                  : Result<Request>(resolved.error());
    if (!request) {
      if (rank == 0) complain(request.error());
    } else {
      const Job job = Job::create(request.value().core.deadline_seconds);
      std::vector<std::string> command{"weir-bench", "madbench"};
      command.insert(command.end(), arguments.begin(), arguments.end());
      status = run_in_job(job, request.value(), command);
    }
  }
  MPI_Finalize();
  return status;
}

}  // namespace
}  // namespace weir::bench::madbench

namespace weir::bench {

int run_madbench(const std::vector<std::string>& arguments) { return madbench::run(arguments); }

}  // namespace weir::bench
