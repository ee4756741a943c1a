#include "measurement/workload_job.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "measurement/result.hpp"
#include "measurement/striping_settings.hpp"

namespace weir::bench {

using nlohmann::ordered_json;

int complain(Error error) {
  error.rank = -1;
  fmt::print(stderr, "weir-bench: {}\n", error.text());
  return exit_usage;
}

ordered_json measured_settings(const Settings& settings) {
  // The paths at which the program reads and writes its own files are no parameters of the
  // measurement.
  ordered_json parameters = parameters_json(settings);
  for (const char* own : {"expectation", "output", "plan", "progress", "ranks", "summary-file"}) {
    parameters.erase(own);
  }
  return parameters;
}

ordered_json result_parameters(const Settings& settings) {
  ordered_json parameters;
  const ordered_json all = measured_settings(settings);
  for (const auto& [name, entry] : all.items()) {
    parameters[settings.values().find(name)->second.recorded] = entry;
  }
  return parameters;
}

ordered_json planned(std::int64_t ranks, std::int64_t files, std::int64_t memory_bytes_per_rank,
                     std::int64_t disk_bytes, const std::vector<PlannedPhase>& phases) {
  ordered_json plan;
  plan["ranks"] = ranks;
  plan["files"] = files;
  plan["memory_bytes_per_rank"] = memory_bytes_per_rank;
  plan["memory_bytes_total"] = memory_bytes_per_rank * ranks;
  plan["disk_bytes_total"] = disk_bytes;
  plan["phases"] = ordered_json::array();
  for (const PlannedPhase& one : phases) {
    ordered_json computations;
    if (one.computations_per_operation) computations = *one.computations_per_operation;
    plan["phases"].push_back({{"function", one.function},
                              {"direction", name_of(one.direction)},
                              {"operations_per_rank", one.operations_per_rank},
                              {"bytes_per_operation", one.bytes_per_operation},
                              {"bytes_total", one.bytes_total},
                              {"computations_per_operation", std::move(computations)},
                              {"exposed_operations_per_rank",
                               one.exposed_operations_per_rank.value_or(one.operations_per_rank)}});
  }
  return plan;
}

int print_planned(const std::vector<PlannedConfiguration>& configurations, const CoreSettings& core,
                  const PlannedJob& job) {
  ordered_json plan;
  plan["configurations"] = ordered_json::array();
  for (const PlannedConfiguration& one : configurations) {
    plan["configurations"].push_back({{"label", one.label},
                                      {"slug", one.slug},
                                      {"asynchronous", one.asynchronous},
                                      {"parameters", one.parameters},
                                      {"plan", one.plan}});
  }
  plan["directory"] = std::filesystem::absolute(core.directory).lexically_normal().string();
  std::vector<std::string> striping = striping_arguments(core.striping);
  const std::vector<std::string> targets = core.targets.arguments();
  striping.insert(striping.end(), targets.begin(), targets.end());
  plan["striping"] = striping;
  plan["transfer_bytes"] = job.transfer_bytes;
  plan["notes"] = job.notes;
  plan["decided"] = job.decided;
  plan["few_bytes"] = job.few_bytes;
  fmt::print("{}\n", plan.dump(2));
  return 0;
}

Result<std::vector<ordered_json>> write_new_runs(const JobFolders& folders,
                                                 const std::vector<RunHead>& heads,
                                                 const CoreSettings& core) {
  std::vector<ordered_json> runs;
  for (const RunHead& head : heads) {
    runs.push_back(new_run(folders, head, core));
    if (Status status = write_file_atomically(
            fmt::format("{}/{}/run.json", folders.root, head.slug), runs.back().dump(1) + "\n");
        !status) {
      return status.error();
    }
  }
  return runs;
}

int run_under_mpi(const std::function<int(int ranks)>& run) {
  prepare_signals();
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int status = run(ranks);
  MPI_Finalize();
  return status;
}

}  // namespace weir::bench
