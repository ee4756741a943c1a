// What `probe` and `calibrate` do around their measurements.
//
// clang-format off
//   FILE                          the result, written by rank 0 at the end
//   FILE.unfinished/              exists until then, with the failure if there was one, and
//     folders.json                the folders of test files, for cleaning up after a crash
//   DIR/weir-NAME-ID/             the test files on one target, removed at the end
//   DIR/weir-NAME-ID-targetN/     instead of it, one for each of --targets, if files are on one
// clang-format on
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "measurement/failure.hpp"
#include "measurement/files_on_targets.hpp"
#include "measurement/job.hpp"
#include "system/striping.hpp"

namespace weir::bench::probe {

// One measurement with test files.
struct TestRun {
  const char* name;  // of the workload
  std::string output;
  std::vector<std::string> directories;  // one on each target
  storage::Striping striping = {};       // of the test files
  // The targets of the test files; empty: any. If they are chosen, there is one directory, which
  // has a folder for each target, or one for all.
  FilesOnTargets targets = {};
  // Returns the test files of this rank and of its neighbours among the ranks, which it removes if
  // they have been lost. `folders` are those of the job, in the order of the directories.
  std::function<TestFiles(const std::vector<std::string>& folders)> test_files;
  // Measures, and writes `output` on rank 0. If this fails on some ranks only, it sets the failed
  // rank.
  std::function<Status(FailureGuard& guard, const std::vector<std::string>& folders,
                       int* failed_rank)>
      measure;
};

// Collective. Returns the exit status.
int run_with_test_folders(const Job& job, const TestRun& run);

}  // namespace weir::bench::probe
