// The workload `calibrate`: a few seconds of the simplest I/O by all ranks together. From its
// result, `weir` predicts what a run should reach.
//
// The workload writes calibration.json (python/weir/results/calibration.py). The measurements are
// the simplest form of the benchmark's: every rank moves consecutive pieces to or from a file of
// its own, or its own part of a file of all ranks. The ranks meet before and after each piece, or
// each 1 MiB of smaller ones, and a rate is the bytes of all ranks over the sum of the spans
// between two meetings, each from the first start to the last end.
//
// This file has the command line, the test files and the result. Rank 0 writes FILE. While FILE
// is missing, FILE.unfinished/ exists, with the record of a failure if there was one
// (measurement/failure.hpp).
#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "common/clock.hpp"
#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "measurement/clock_offset.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "measurement/striping_settings.hpp"
#include "measurement/workload_job.hpp"
#include "workloads/calibrate/figures.hpp"
#include "workloads/calibrate/probe.hpp"

namespace weir::bench {
namespace {

using calibrate::Calibration;
using calibrate::find_room;
using calibrate::Probe;
using calibrate::Request;
using calibrate::Room;

constexpr const char* program = "weir-bench calibrate";
constexpr const char* description =
    "Measures memory, file system and processors in the simplest case for a few seconds.";

FieldSettings<Request> table() {
  return {
      {&Request::directory,
       "directory",
       "directory of the test files",
       {.default_value = ".", .metavar = "DIR"}},
      {&Request::transfer_bytes,
       "transfer-bytes",
       "bytes that one rank moves in one operation",
       {.kind = SettingKind::bytes, .default_value = "4m", .metavar = "SIZE", .range = {8}}},
      {&Request::bytes_per_rank,
       "bytes-per-rank",
       "bytes of one rank in a file; less if memory, disk and time do not allow that many",
       {.kind = SettingKind::bytes, .default_value = "32m", .metavar = "SIZE", .range = {8}}},
      {&Request::shared_file,
       "shared-file",
       "all ranks move their parts of one file, instead of a file each",
       {}},
      {&Request::output,
       "output",
       "file for the result; an existing file is replaced",
       {.default_value = "calibration.json", .metavar = "FILE"}},
      {&Request::seconds,
       "seconds",
       "time for all measurements; slow storage takes longer for the smallest number of "
       "trials",
       {.default_value = "6",
        .metavar = "SECONDS",
        .range = {.least = 0, .most = 3600, .above_least = true}}},
      {&Request::deadline_seconds,
       "deadline",
       "give up if one operation or wait takes longer",
       {.default_value = "600", .metavar = "SECONDS", .range = {1, 1e9}}},
  };
}

Result<Request> request_of(const Settings& settings) {
  Request request;
  fill(settings, table(), &request);
  auto striping = striping_of(settings);
  if (!striping) return striping.error();
  request.striping = std::move(striping).value();
  return request;
}

// Returns the folder of a job's test files, the same on every rank.
std::string unique_folder(const Job& job, const std::string& directory) {
  std::array<std::uint32_t, 2> id{};
  if (job.rank == 0) id = {static_cast<std::uint32_t>(getpid()), std::random_device{}()};
  MPI_Bcast(id.data(), 2, MPI_UINT32_T, 0, job.world);
  return fmt::format("{}/weir-calibrate-{}-{:08x}", directory, id[0], id[1]);
}

Status make_test_folder(const std::string& path, const Request& request) {
  if (mkdir(path.c_str(), 0755) != 0) return system_failure("mkdir", path, -1, errno);
  return storage::stripe_folder(path, request.striping);
}

int run_in_job(const Job& job, const Request& request) {
  int failed_rank = none_failed;
  Status status;
  if (job.rank == 0) {
    status = check_directory(request.directory, request.striping);
    if (status) status = make_unfinished_folder(request.output);
  }
  const Status agreed = agree_on(job, status, &failed_rank);
  if (!agreed) {
    // Rank 0 prints its own error: the request is invalid on every rank alike.
    if (job.rank == 0) complain(status.error());
    return exit_usage;
  }

  FailureGuard guard(job, unfinished_folder(request.output), {});
  TestFiles files{.directory = unique_folder(job, request.directory), .paths = {}};
  for (const int step : {0, 1, job.size - 1}) {
    const int owner = request.shared_file ? 0 : (job.rank + step) % job.size;
    files.paths.push_back(fmt::format("{}/weir-{}", files.directory, owner));
  }
  guard.set_test_files(files);
  status = agree_on(job, job.rank == 0 ? make_test_folder(files.directory, request) : Status(),
                    &failed_rank);
  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, nlohmann::ordered_json()},
                             {});
  }

  const Room room = find_room(job, request);
  const auto offset = estimate_clock_offset(job.world, job.deadline_ns());
  if (!offset) {
    status = offset.error();
  } else {
    Probe probe(job, guard, offset.value(),
                {.path = files.paths.front(),
                 .shared = request.shared_file,
                 .bytes_per_rank = room.file_bytes});
    Calibration calibration(job, request, room, probe);
    status = calibration.measure_all();
    failed_rank = probe.failed_rank();
    if (status && job.rank == 0) {
      status = write_file_atomically(request.output, calibration.result().dump(2) + "\n");
    }
    if (failed_rank == none_failed) status = agree_on(job, std::move(status), &failed_rank);
  }

  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, nlohmann::ordered_json()},
                             {});
  }
  return end_well(job, guard, request.output);
}

}  // namespace

int run_calibrate(const std::vector<std::string>& arguments) {
  return run_request<Request>(
      resolve_settings(program, description, declarations_of(table(), striping_table()), arguments,
                       process_environment),
      request_of, run_in_job);
}

}  // namespace weir::bench
