// What the programs share that run workloads on several ranks: a folder that is empty before and
// after, and a count of what was wrong.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "measurement/failure.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

inline constexpr double deadline_seconds = 60;

// Counts what was wrong on this rank.
class Expectations {
 public:
  void expect(bool holds, const std::string& what) {
    if (holds) return;
    ++failures_;
    fmt::print(stderr, "WRONG: {}\n", what);
  }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  int failures_ = 0;
};

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The program's main function. `run` is given job, guard, expectations and folder, and returns how
// many runs it made.
template <typename Run>
int workload_test(int argc, char** argv, const std::string& workload, const Run& run) {
  prepare_signals();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int wrong = 0;
  {
    const Job job = Job::create(deadline_seconds);
    const std::string directory =
        fmt::format("{}/weir-{}-test-{}", argc > 1 ? argv[1] : ".", workload, job.size);
    if (job.rank == 0) {
      std::filesystem::remove_all(directory);
      std::filesystem::create_directories(directory);
    }
    MPI_Barrier(job.world);
    Expectations expected;
    int runs = 0;
    {
      FailureGuard guard(job, directory, {});
      runs = run(job, guard, expected, directory);
    }
    expected.expect(runs > 0, "nothing was run");
    MPI_Barrier(job.world);
    if (job.rank == 0) {
      expected.expect(std::filesystem::is_empty(directory), "test files were left");
      std::filesystem::remove_all(directory);
    }
    const int mine = expected.failures();
    MPI_Allreduce(&mine, &wrong, 1, MPI_INT, MPI_SUM, job.world);
    if (job.rank == 0) fmt::print("{} runs on {} ranks, {} wrong\n", runs, job.size, wrong);
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}

}  // namespace weir::bench
