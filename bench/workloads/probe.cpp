// The workload `probe`: measures, in under a minute, the performance of each part of this machine's
// I/O path, for a platform description.
//
// The probe writes probe.json (python/weir/results/probe.py): trials of single operations at
// several sizes and numbers of ranks, on one or more targets, interleaved in rounds of random
// order.
//
// This file has the command line of a probe and its result; probe/test_folders.hpp tells where that
// and the test files are: DIR/weir-probe-ID/rank-R/ has those of one rank on one target.
#include <fmt/format.h>
#include <mpi.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "common/clock.hpp"
#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/described_nodes.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/quiet.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/probe/description.hpp"
#include "workloads/probe/instrument.hpp"
#include "workloads/probe/survey.hpp"
#include "workloads/probe/test_folders.hpp"

namespace weir::bench {
namespace {

using nlohmann::ordered_json;
using probe::Instrument;
using probe::Placement;
using probe::Request;
using probe::Spare;
using probe::Survey;

constexpr const char* program = "weir-bench probe";
constexpr const char* description =
    "Measures memory, page cache, storage and messages at several sizes and numbers of ranks.";

Result<std::vector<std::string>> directories_of(const std::string& text) {
  std::vector<std::string> directories;
  std::istringstream names(text);
  for (std::string one; std::getline(names, one, ',');) {
    if (one.empty()) return invalid_argument("has an empty name: leave it out");
    std::error_code error;
    directories.push_back(std::filesystem::weakly_canonical(one, error).string());
    if (error) return invalid_argument(fmt::format("has {}: {}", one, error.message()));
  }
  constexpr std::size_t most_targets = 64;
  if (!directories.empty() && directories.size() <= most_targets) return directories;
  return invalid_argument(
      fmt::format("are {} directories: give 1 to {}", directories.size(), most_targets));
}

FieldSettings<Request> table() {
  return {
      {&Request::directories,
       directories_of,
       "directory",
       "directories of the test files, one on each target to measure",
       {.default_value = ".", .metavar = "DIR[,DIR...]"}},
      {&Request::output,
       "output",
       "file for the result; an existing file is replaced",
       {.default_value = "probe.json", .metavar = "FILE"}},
      {&Request::seconds,
       "seconds",
       "time for all measurements; very slow storage takes somewhat longer",
       {.default_value = "50", .metavar = "SECONDS", .range = {1, 3600}}},
      {&Request::progress_json,
       {{"none", false}, {"json", true}},
       "progress",
       "report progress on standard error",
       {.default_value = "none", .metavar = "FORM"}},
      {&Request::deadline_seconds,
       "deadline",
       "give up if one operation or wait takes longer",
       {.default_value = "600", .metavar = "SECONDS", .range = {1, 1e9}}},
  };
}

Result<Request> request_of(const Settings& settings) {
  Request request;
  fill(settings, table(), &request);
  return request;
}

std::vector<std::string> rank_folders(const std::vector<std::string>& folders, int rank) {
  std::vector<std::string> own;
  own.reserve(folders.size());
  for (const std::string& folder : folders) own.push_back(fmt::format("{}/rank-{}", folder, rank));
  return own;
}

void say_disk_use(const Job& job, const Request& request, const Spare& spare) {
  std::int64_t most = 0;
  constexpr std::int64_t sets = 3;  // survey.cpp: with fewer ranks the files are larger
  for (const std::int64_t bytes : spare.largest_file_bytes) most += sets * bytes * job.size;
  fmt::print(stderr, "weir-bench: probing for {} s on {} ranks with at most {} MiB of test files\n",
             request.seconds, job.size, most / probe::MiB);
}

// `nodes` is what describe_nodes() returns on rank 0.
ordered_json head_of(const Job& job, const Request& request, const Spare& spare,
                     const Placement& placement, const nlohmann::json& nodes) {
  ordered_json result;
  result["format"] = "weir-probe";
  result["format_version"] = 1;
  result["measured_utc"] = utc_now();
  result["seconds"] = 0;
  result["ranks"] = job.size;
  for (std::size_t host = 0; host < placement.hosts.size(); ++host) {
    result["ranks_by_host"][placement.hosts[host]] = placement.host_ranks[host];
  }
  result["memory_available_bytes"] = spare.memory_available;
  for (const std::string& directory : request.directories) {
    result["targets"].push_back(probe::describe_target(directory));
  }
  for (const char* const part : {"hardware", "system_software", "nodes"}) {
    result[part] = nodes[part];
  }
  result["hardware"].erase("block_device");  // the targets have theirs
  return result;
}

// Collective.
Status measure(const Job& job, FailureGuard& guard, const Request& request,
               const std::vector<std::string>& folders, int* failed_rank) {
  const std::int64_t began_ns = monotonic_ns();
  const QuietWatch watch(job);
  const auto spare = probe::find_spare(job, request);
  Status status = agree_on(job, spare ? Status() : spare.error(), failed_rank);
  if (!status) return status;
  const Placement placement = probe::find_placement(job);
  ordered_json result;
  if (job.node_rank == 0) {
    const nlohmann::json nodes = describe_nodes(job.leaders, request.directories.front());
    if (job.rank == 0) {
      say_disk_use(job, request, spare.value());
      result = head_of(job, request, spare.value(), placement, nodes);
    }
  }
  const auto offset = estimate_clock_offset(job.world, job.deadline_ns());
  if (!offset) return offset.error();

  Instrument instrument(job, guard, offset.value(), placement);
  Survey survey(job, request, spare.value(), placement, instrument);
  status = survey.prepare(rank_folders(folders, job.rank));
  if (status) status = survey.measure();
  if (!status) {
    *failed_rank = instrument.meeting().failed_rank();
    return status;
  }
  const auto quiet = watch.finish(job);
  if (!quiet) return quiet.error();
  if (job.rank == 0) {
    result["seconds"] = seconds_of(monotonic_ns() - began_ns);
    result["quiet"] = quiet.value();
    result["warnings"] = survey.warnings();
    result["samples"] = survey.samples();
    for (const std::string& warning : survey.warnings()) {
      fmt::print(stderr, "weir-bench: {}\n", warning);
    }
    status = write_file_atomically(request.output, result.dump(1) + "\n");
  }
  return agree_on(job, std::move(status), failed_rank);
}

int run_in_job(const Job& job, const Request& request) {
  return probe::run_with_test_folders(
      job,
      {.name = "probe",
       .output = request.output,
       .directories = request.directories,
       .test_files =
           [&](const std::vector<std::string>& folders) {
             TestFiles files;
             for (const int step : {0, 1, job.size - 1}) {
               const auto of_rank = rank_folders(folders, (job.rank + step) % job.size);
               files.rank_folders.insert(files.rank_folders.end(), of_rank.begin(), of_rank.end());
             }
             files.job_folders = folders;
             return files;
           },
       .measure =
           [&](FailureGuard& guard, const std::vector<std::string>& folders, int* failed_rank) {
             return measure(job, guard, request, folders, failed_rank);
           }});
}

}  // namespace

int run_probe(const std::vector<std::string>& arguments) {
  return run_request<Request>(resolve_settings(program, description, declarations_of(table()),
                                               arguments, process_environment),
                              request_of, run_in_job);
}

}  // namespace weir::bench
