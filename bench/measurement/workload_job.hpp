// The steps that every workload that sweeps configurations takes around its own work: from the
// command line to MPI, and from MPI to the folder of results.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/direction.hpp"
#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/run_folder.hpp"

namespace weir::bench {

// Prints the error line for an invalid request and returns exit_usage. The request is invalid on
// every rank alike, so the line names no rank.
int complain(Error error);

// Returns the settings without those that say where weir-bench itself reads and writes.
[[nodiscard]] nlohmann::ordered_json measured_settings(const Settings& settings);
// Returns measured_settings() under the names that most results share.
[[nodiscard]] nlohmann::ordered_json result_parameters(const Settings& settings);
// Returns result_parameters() of one configuration, with its own values of the settings that vary.
template <typename Variant>
[[nodiscard]] nlohmann::ordered_json result_parameters(const Settings& settings,
                                                       const FieldSettings<Variant>& varying,
                                                       const Variant& variant) {
  nlohmann::ordered_json parameters = result_parameters(settings);
  for (const FieldSetting<Variant>& one : varying) {
    nlohmann::ordered_json& entry = parameters[recorded_name(one.setting())];
    const std::string value = one.show(variant);
    if (one.setting().kind == SettingKind::sizes) {
      entry["value"] = parse_bytes(value).value_or(0);
    } else {
      entry["value"] = value;
    }
    if (!entry.contains("origin")) entry["origin"] = name_of(SettingOrigin::default_value);
  }
  return parameters;
}

// Says what one function of a configuration is going to transfer.
struct PlannedPhase {
  std::string_view function;
  Direction direction = Direction::write;
  std::int64_t operations_per_rank = 0;
  std::int64_t bytes_per_operation = 0;
  std::int64_t bytes_total = 0;  // of all ranks
  // Busy work that one transfer can run behind; nothing: what it runs behind has no known time.
  std::optional<double> computations_per_operation = 0.0;
  // Operations that no computation can hide; nothing: all.
  std::optional<std::int64_t> exposed_operations_per_rank = std::nullopt;
};

// Returns the record `plan` of a configuration, with these phases. `disk_bytes`: of all files.
[[nodiscard]] nlohmann::ordered_json planned(std::int64_t ranks, std::int64_t files,
                                             std::int64_t memory_bytes_per_rank,
                                             std::int64_t disk_bytes,
                                             const std::vector<PlannedPhase>& phases = {});

// One configuration in the output of --plan.
struct PlannedConfiguration {
  std::string label;
  std::string slug;
  bool asynchronous = false;
  nlohmann::ordered_json parameters;
  nlohmann::ordered_json plan;
};

// Has what --plan says of all configurations together.
struct PlannedJob {
  std::int64_t transfer_bytes = 0;  // of the largest transfer
  std::vector<std::string> notes;   // how the command line was understood
  // Settings whose values were chosen by what was found on the nodes, by name.
  nlohmann::ordered_json decided = nlohmann::ordered_json::object();
  std::vector<std::string> few_bytes;  // SweptWorkload::few_bytes()
};

// Prints the output of --plan as JSON. Returns 0.
int print_planned(const std::vector<PlannedConfiguration>& configurations, const CoreSettings& core,
                  const PlannedJob& job);

// Writes the run.json of every configuration before the first repetition. Call it on rank 0.
[[nodiscard]] Result<std::vector<nlohmann::ordered_json>> write_new_runs(
    const JobFolders& folders, const std::vector<RunHead>& heads, const CoreSettings& core);

// Starts MPI, calls `run` with the number of ranks, and finalizes MPI. Returns what `run` returns.
int run_under_mpi(const std::function<int(int ranks)>& run);

// Runs a workload without configurations, from the settings to MPI: prints the help if it was
// requested, reports an error, or runs the request.
template <typename Request>
int run_request(const Result<ResolvedSettings>& resolved,
                Result<Request> (*request_of)(const Settings& settings),
                int (*run)(const Job& job, const Request& request)) {
  if (resolved && resolved.value().help) {
    fmt::print("{}", *resolved.value().help);
    return 0;
  }
  return run_under_mpi([&](int /*ranks*/) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const auto request =
        resolved ? request_of(resolved.value().settings) : Result<Request>(resolved.error());
    if (!request) return rank == 0 ? complain(request.error()) : exit_usage;
    return run(Job::create(request.value().deadline_seconds), request.value());
  });
}

}  // namespace weir::bench
