// What the files of this program share: runs of the workload in a folder that is empty before and
// after, and what they are held against.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "measurement/core_settings.hpp"
#include "measurement/failure.hpp"
#include "measurement/job.hpp"
#include "workloads/metadata/execute.hpp"
#include "workloads/metadata/parameters.hpp"
#include "workloads/metadata/plan.hpp"

namespace weir::bench::metadata {

namespace fs = std::filesystem;

class Test {
 public:
  static constexpr double deadline_seconds = 60;
  static constexpr std::uint64_t seed = 11;

  Test(const Job& job, FailureGuard& guard, std::string root)
      : job_(job), guard_(guard), root_(std::move(root)) {
    core_.deadline_seconds = deadline_seconds;
    core_.durability = storage::Durability::none;
    core_.rank_shift = 1;
    for (const ActionFacts& facts : all_actions()) options_.actions.push_back(facts.action);
    options_.shift_given = true;
    options_.bytes = 500;
    options_.truncate_to = 70;
  }

  void expect(bool holds, const std::string& what) {
    if (holds) return;
    ++failures_;
    fmt::print(stderr, "WRONG on rank {}: {}\n", job_.rank, what);
  }

  [[nodiscard]] Variant variant(TreeShape shape, Api api = Api::posix) {
    shape.ranks = job_.size;
    if (shape.total == 0) shape.items_per_rank = 7;
    const auto checked = checked_shape(shape);
    expect(checked.ok(), "the shape is refused");
    return {.api = api, .shape = checked.value(), .label = "", .slug = ""};
  }

  Result<RepetitionRecord> run(const Variant& variant, const Options& options) {
    Executor executor(job_, guard_, core_, options, root_, seed);
    auto record = executor.run(variant);
    MPI_Barrier(job_.world);
    return record;
  }

  // Everything is done, and nothing is left.
  void expect_right(const Variant& variant, const Options& options, const std::string& what) {
    const auto record = run(variant, options);
    expect(record.ok(), what + ": " + (record ? "" : record.error().text()));
    expect(fs::is_empty(root_), what + ": something is left");
    if (record) expect_counts(record.value(), variant, options, what);
    clear();
  }

  // Fails on every rank, where it happens with `operation` on a path that ends in `end`.
  void expect_failure(const Variant& variant, const Options& options, const std::string& operation,
                      const std::string& end) {
    const auto record = run(variant, options);
    expect(!record.ok(), operation + " did not fail");
    if (record) return;
    const Error& error = record.error();
    if (error.code == ErrorCode::peer) return;
    expect(error.operation == operation && error.file.ends_with(end) && error.rank == job_.rank,
           "wrong failure: " + error.text());
    expect(error.text().find('\n') == std::string::npos, "more than a line: " + error.text());
  }

  void clear() {
    MPI_Barrier(job_.world);
    if (job_.rank == 0) {
      for (const auto& entry : fs::directory_iterator(root_)) fs::remove_all(entry.path());
    }
    MPI_Barrier(job_.world);
  }

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] FailureGuard& guard() { return guard_; }
  [[nodiscard]] Options options() const { return options_; }
  [[nodiscard]] CoreSettings& core() { return core_; }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  void expect_counts(const RepetitionRecord& record, const Variant& variant, const Options& options,
                     const std::string& what) {
    const auto actions = actions_on(options, variant);
    expect(record.phases.size() == actions.size(), what + ": phases");
    std::vector<std::int64_t> mine;
    for (const ActionRecord& phase : record.phases) {
      mine.push_back(phase.operations);
      expect(phase.elapsed_ns() >= 0 && phase.busy_ns >= 0, what + ": times");
      if (facts_of(phase.measured.action).subject != Subject::listing) {
        expect(phase.latencies.count() == static_cast<std::uint64_t>(phase.operations),
               what + ": latencies");
      }
    }
    std::vector<std::int64_t> all(mine.size());
    MPI_Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_INT64_T, MPI_SUM,
                  job_.world);
    const auto plan = plan_json(variant, options)["metadata"];
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int64_t expected = plan[i]["operations"];
      expect(all[i] == expected, fmt::format("{}: {} did {} operations instead of {}", what,
                                             facts_of(actions[i]).name, all[i], expected));
    }
  }

  const Job& job_;
  FailureGuard& guard_;
  std::string root_;
  CoreSettings core_;
  Options options_;
  int failures_ = 0;
};

// Calls that fail, trees that others disturb, ranks that keep the others waiting: what is told, and
// that everybody learns of it. In metadata_failure_test.cpp.
void test_failures(Test& test);

}  // namespace weir::bench::metadata
