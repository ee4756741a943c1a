// The folders of a job's results, and the directory of its test files. Rank 0 creates them.
//
// clang-format off
//   ROOT/                 --output; new or empty
//     files.json          the directories of the test files, for cleaning up after a crash
//     failure.json        only if the job failed (failure.hpp)
//     SLUG/run.json       one folder per configuration; status "running" from the start
//     SLUG/events/        the trace (events.hpp)
//   DIRECTORY/weir-ID/    the test files, removed at the end; one in each directory
//   DIRECTORY/weir-ID-targetN/    instead of these, one for each of --targets, if files are on one
// clang-format on
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

struct JobFolders {
  std::string id;              // identifies this job: the time and a random part
  std::string root;            // absolute
  std::string test_directory;  // absolute
  std::vector<std::string> further_test_directories;
  std::string started_utc;
  std::uint64_t seed = 0;  // of the payload and of the order; from --seed, or new
};

// Creates the folders on rank 0. Collective; all ranks return the same result.
[[nodiscard]] Result<JobFolders> create_job_folders(const Job& job, const CoreSettings& core,
                                                    const std::string& workload,
                                                    const std::vector<std::string>& slugs);

// A run.json with every field of the schema, with status "running" and nothing measured yet.
struct RunHead {
  std::string workload;
  std::string slug;
  std::string label;
  std::vector<std::string> command;
  nlohmann::ordered_json parameters;
  nlohmann::ordered_json plan;
  nlohmann::ordered_json expectation;  // null when none was made
};
[[nodiscard]] nlohmann::ordered_json new_run(const JobFolders& folders, const RunHead& head,
                                             const CoreSettings& core);

// Reads the expectations of --expectation FILE, by slug. Returns an empty object if no file is
// given.
[[nodiscard]] Result<nlohmann::ordered_json> read_expectations(const std::string& path);

}  // namespace weir::bench
