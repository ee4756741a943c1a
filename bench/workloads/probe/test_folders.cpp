#include "workloads/probe/test_folders.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <system_error>
#include <utility>

#include "measurement/core_settings.hpp"
#include "measurement/failure_report.hpp"
#include "measurement/run_folder.hpp"
#include "measurement/workload_job.hpp"

namespace weir::bench::probe {
namespace {

std::string unfinished_folder(const std::string& output) { return output + ".unfinished"; }

// Returns the folders of this job's test files, one in each directory, or one for each target; the
// same on every rank.
std::vector<std::string> folders_of(const Job& job, const TestRun& run) {
  std::array<std::uint32_t, 2> id{};
  if (job.rank == 0) id = {static_cast<std::uint32_t>(getpid()), std::random_device{}()};
  MPI_Bcast(id.data(), 2, MPI_UINT32_T, 0, job.world);
  std::vector<std::string> folders;
  folders.reserve(run.directories.size());
  for (const std::string& directory : run.directories) {
    for (std::size_t i = 0; i < run.targets.folders(); ++i) {
      folders.push_back(fmt::format("{}/weir-{}-{}-{:08x}{}", directory, run.name, id[0], id[1],
                                    run.targets.folder_ending(i)));
    }
  }
  return folders;
}

// Rank 0 creates the unfinished folder anew, so that the record of an earlier failure does not
// silence a new one.
Status make_unfinished_folder(const std::string& output, const std::vector<std::string>& folders) {
  const std::string path = unfinished_folder(output);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return invalid_argument(fmt::format(
        "--output: cannot create {}: {}; give a file that you can write", path, error.message()));
  }
  const std::string record = path + "/failure.json";
  std::filesystem::remove(record, error);
  if (error) return system_failure("unlink", record, -1, error.value());
  auto absolute = nlohmann::ordered_json::array();
  for (const std::string& folder : folders) {
    absolute.push_back(std::filesystem::absolute(folder, error).string());
    if (error) return system_failure("getcwd", folder, -1, error.value());
  }
  return write_file_atomically(path + "/folders.json", absolute.dump(1) + "\n");
}

Status make_folders(const std::vector<std::string>& folders, const TestRun& run) {
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const std::string& folder = folders[i];
    if (mkdir(folder.c_str(), 0777) != 0) return system_failure("mkdir", folder, -1, errno);
    if (Status laid_out = lay_out_folder(folder, i, run.targets, run.striping); !laid_out) {
      return laid_out;
    }
  }
  return {};
}

// Removes the test files and the unfinished folder.
int end_well(const Job& job, FailureGuard& guard, const std::string& output) {
  if (Status removed = guard.remove_test_files(); !removed) {
    fmt::print(stderr, "weir-bench: {}\n", removed.error().text());
  }
  std::error_code error;
  if (job.rank == 0) std::filesystem::remove_all(unfinished_folder(output), error);
  if (!error) return 0;
  return complain(system_failure("rmdir", unfinished_folder(output), -1, error.value()));
}

}  // namespace

int run_with_test_folders(const Job& job, const TestRun& run) {
  const std::vector<std::string> folders = folders_of(job, run);
  int failed_rank = none_failed;
  Status status;
  if (job.rank == 0) {
    for (const std::string& directory : run.directories) {
      if (status) status = check_directory(directory, run.striping);
      if (status) status = check_targets(directory, run.targets);
    }
    if (status) status = make_unfinished_folder(run.output, folders);
  }
  const Status agreed = agree_on(job, status, &failed_rank);
  if (!agreed) {
    // Rank 0 prints its own error: the request is invalid on every rank alike.
    if (job.rank == 0) complain(status.error());
    return exit_usage;
  }

  FailureGuard guard(job, unfinished_folder(run.output), {});
  guard.set_test_files(run.test_files(folders));
  status = job.rank == 0 ? make_folders(folders, run) : Status();
  status = agree_on(job, std::move(status), &failed_rank);
  if (status) status = run.measure(guard, folders, &failed_rank);
  if (!status) {
    return end_after_failure(job, guard, {status.error(), failed_rank, nlohmann::ordered_json()},
                             {});
  }
  return end_well(job, guard, run.output);
}

}  // namespace weir::bench::probe
