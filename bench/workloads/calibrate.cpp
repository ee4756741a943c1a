// The workload `calibrate`: a few seconds of the simplest I/O by all ranks together. From its
// result, `weir` predicts what a run should reach.
//
// The workload writes calibration.json (python/weir/results/calibration.py). The measurements are
// the simplest form of the benchmark's: every rank moves consecutive pieces to or from a file of
// its own, or its own part of a file of all ranks. The ranks meet before and after each piece, or
// each 1 MiB of smaller ones, and a rate is the bytes of all ranks over the sum of the spans
// between two meetings, each from the first start to the last end.
//
// This file has the command line and the test files; probe/test_folders.hpp tells where they and
// the result are.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/files_on_targets.hpp"
#include "measurement/job.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/striping_settings.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/probe/calibration.hpp"
#include "workloads/probe/test_folders.hpp"

namespace weir::bench {
namespace {

using probe::CalibrationRequest;

constexpr const char* calibration_program = "weir-bench calibrate";
constexpr const char* calibration_description =
    "Measures memory, file system and processors in the simplest case for a few seconds.";

FieldSettings<CalibrationRequest> calibration_table() {
  return {
      {&CalibrationRequest::directory,
       "directory",
       "directory of the test files",
       {.default_value = ".", .metavar = "DIR"}},
      {&CalibrationRequest::transfer_bytes,
       "transfer-bytes",
       "bytes that one rank moves in one operation",
       {.kind = SettingKind::bytes, .default_value = "4m", .metavar = "SIZE", .range = {8}}},
      {&CalibrationRequest::bytes_per_rank,
       "bytes-per-rank",
       "bytes of one rank in a file; less if memory, disk and time do not allow that many",
       {.kind = SettingKind::bytes, .default_value = "32m", .metavar = "SIZE", .range = {8}}},
      {&CalibrationRequest::shared_file,
       "shared-file",
       "all ranks move their parts of one file, instead of a file each",
       {}},
      {&CalibrationRequest::direct,
       "direct",
       "measure storage by O_DIRECT, which the run uses",
       {}},
      {&CalibrationRequest::links_text,
       "links",
       "the way over TCP to so many stagers with so many receiving threads each is measured, too, "
       "such as 1x4,2x1",
       {.metavar = "LIST"}},
      {&CalibrationRequest::service,
       "service",
       "file or folder that names stagers: the way to as many receivers over TCP is measured, too, "
       "if all ranks and these stagers are on one node",
       {.metavar = "FILE"}},
      {&CalibrationRequest::output,
       "output",
       "file for the result; an existing file is replaced",
       {.default_value = "calibration.json", .metavar = "FILE"}},
      {&CalibrationRequest::seconds,
       "seconds",
       "time for all measurements; slow storage takes longer for the smallest number of "
       "trials",
       {.default_value = "6",
        .metavar = "SECONDS",
        .range = {.least = 0, .most = 3600, .above_least = true}}},
      {&CalibrationRequest::deadline_seconds,
       "deadline",
       "give up if one operation or wait takes longer",
       {.default_value = "600", .metavar = "SECONDS", .range = {1, 1e9}}},
  };
}

Result<CalibrationRequest> calibration_request_of(const Settings& settings) {
  CalibrationRequest request;
  fill(settings, calibration_table(), &request);
  auto links = probe::parse_link_ends(request.links_text);
  if (!links) return links.error();
  request.links = std::move(links).value();
  auto striping = striping_of(settings);
  if (!striping) return striping.error();
  request.striping = std::move(striping).value();
  auto targets = files_on_targets_of(settings, &request.striping);
  if (!targets) return targets.error();
  request.targets = std::move(targets).value();
  request.targets.by_rank = !request.shared_file && !request.targets.empty();
  return request;
}

// The file of rank r is in folder number r mod O of the O folders.
std::string file_of_rank(const CalibrationRequest& request, const std::vector<std::string>& folders,
                         int rank) {
  const std::string& folder = folders[static_cast<std::size_t>(rank) % folders.size()];
  return fmt::format("{}/weir-{}", folder, request.shared_file ? 0 : rank);
}

// Collective.
Status calibrate_in(const Job& job, FailureGuard& guard, const CalibrationRequest& request,
                    const std::vector<std::string>& folders, int* failed_rank) {
  const probe::Room room =
      probe::find_room(job, request.directory, request.transfer_bytes, request.bytes_per_rank);
  const auto offset = estimate_clock_offset(job.world, job.deadline_ns());
  if (!offset) return offset.error();
  // Without messages between hosts, nobody needs to know where the other ranks are.
  probe::Placement placement;
  placement.position = job.rank;
  probe::Instrument instrument(job, guard, offset.value(), placement);
  probe::RunFile file(job, guard, instrument,
                      {.path = file_of_rank(request, folders, job.rank),
                       .shared = request.shared_file,
                       .bytes_per_rank = room.file_bytes,
                       .targets = request.targets.of_rank(job.rank)});
  probe::Calibration calibration(job, request, room, instrument, file);
  Status status = calibration.measure_all();
  if (!status) {
    *failed_rank = instrument.meeting().failed_rank();
    if (*failed_rank != none_failed) return status;
  }
  if (status && job.rank == 0) {
    status = write_file_atomically(request.output, calibration.result().dump(2) + "\n");
  }
  return agree_on(job, std::move(status), failed_rank);
}

int run_calibration(const Job& job, const CalibrationRequest& request) {
  return probe::run_with_test_folders(
      job,
      {.name = "calibrate",
       .output = request.output,
       .directories = {request.directory},
       .striping = request.striping,
       .targets = request.targets,
       .test_files =
           [&](const std::vector<std::string>& folders) {
             TestFiles files{.directory = folders.front(), .paths = {}};
             files.job_folders = {folders.begin() + 1, folders.end()};
             for (const int step : {0, 1, job.size - 1}) {
               files.paths.push_back(file_of_rank(request, folders, (job.rank + step) % job.size));
             }
             return files;
           },
       .measure =
           [&](FailureGuard& guard, const std::vector<std::string>& folders, int* failed_rank) {
             return calibrate_in(job, guard, request, folders, failed_rank);
           }});
}

}  // namespace

int run_calibrate(const std::vector<std::string>& arguments) {
  return run_request<CalibrationRequest>(
      resolve_settings(calibration_program, calibration_description,
                       declarations_of(calibration_table(), striping_table(), targets_table()),
                       arguments, process_environment),
      calibration_request_of, run_calibration);
}

}  // namespace weir::bench
