// The tests of workloads share the job, a guard, and a folder that a test leaves empty.
#pragma once

#include <mpi.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/on_ranks.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"

namespace weir::bench {

class WorkloadTest : public test::OnRanks {
 protected:
  static constexpr double deadline_seconds = 60;

  void SetUp() override {
    OnRanks::SetUp();
    job_.emplace(Job::create(deadline_seconds));
    guard_.emplace(*job_, folder(), std::vector<std::string>());
  }
  void TearDown() override {
    guard_.reset();
    MPI_Barrier(job().world);
    if (job().rank == 0) {
      EXPECT_TRUE(std::filesystem::is_empty(folder())) << "test files are left";
    }
    job_.reset();
    OnRanks::TearDown();
  }

  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] FailureGuard& guard() { return *guard_; }
  // Returns settings by which small writes take little time.
  [[nodiscard]] static CoreSettings not_durable() {
    CoreSettings core;
    core.deadline_seconds = deadline_seconds;
    core.durability = storage::Durability::none;
    return core;
  }

 private:
  std::optional<Job> job_;
  std::optional<FailureGuard> guard_;
};

}  // namespace weir::bench
