// What the tests of the metadata workload share: runs in the folder of a test, and what they are
// held against.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "workload.hpp"
#include "workloads/metadata/execute.hpp"
#include "workloads/metadata/open_calls.hpp"
#include "workloads/metadata/parameters.hpp"
#include "workloads/metadata/plan.hpp"

namespace weir::bench::metadata {

namespace fs = std::filesystem;
using test::is_ok;
using test::is_ok_on_all_ranks;

class Metadata : public WorkloadTest {
 protected:
  static constexpr std::uint64_t seed = 11;

  Metadata() {
    core_.rank_shift = 1;
    for (const ActionFacts& facts : all_actions()) options_.actions.push_back(facts.action);
    options_.shift_given = true;
    options_.bytes = 500;
    options_.truncate_to = 70;
  }

  [[nodiscard]] Variant variant(TreeShape shape, std::string_view api = "POSIX") const {
    shape.ranks = job().size;
    if (shape.total == 0) shape.items_per_rank = 7;
    const auto checked = checked_shape(shape);
    EXPECT_TRUE(is_ok(checked));
    return {.api = interface_named(api),
            .shape = checked ? checked.value() : shape,
            .label = "",
            .slug = ""};
  }

  Result<RepetitionRecord> run(const Variant& variant, const Options& options) {
    Executor executor(job(), guard(), core_, options, folder(), seed);
    auto record = executor.run(variant);
    MPI_Barrier(job().world);
    return record;
  }

  // Everything is done, and nothing is left.
  void expect_right(const Variant& variant, const Options& options) {
    const auto record = run(variant, options);
    EXPECT_TRUE(fs::is_empty(folder())) << "something is left";
    ASSERT_TRUE(is_ok_on_all_ranks(record));
    expect_counts(record.value(), variant, options);
    clear();
  }

  // Fails on every rank, where it happens with `operation` on a path that ends in `end`.
  void expect_failure(const Variant& variant, const Options& options, const std::string& operation,
                      const std::string& end) {
    const auto record = run(variant, options);
    EXPECT_FALSE(record.ok()) << operation << " did not fail";
    if (record) return;
    const Error& error = record.error();
    if (error.code == ErrorCode::peer) return;
    EXPECT_EQ(error.operation, operation) << error.text();
    EXPECT_TRUE(error.file.ends_with(end)) << error.text();
    EXPECT_EQ(error.rank, job().rank);
    EXPECT_EQ(error.text().find('\n'), std::string::npos) << error.text();
  }

  void clear() const {
    MPI_Barrier(job().world);
    if (job().rank == 0) {
      for (const auto& entry : fs::directory_iterator(folder())) fs::remove_all(entry.path());
    }
    MPI_Barrier(job().world);
  }

  [[nodiscard]] std::int64_t next_rank() const { return (job().rank + 1) % job().size; }

  CoreSettings core_ = not_durable();
  Options options_;

 private:
  void expect_counts(const RepetitionRecord& record, const Variant& variant,
                     const Options& options) const {
    const auto actions = actions_on(options, variant);
    ASSERT_EQ(record.phases.size(), actions.size());
    std::vector<std::int64_t> mine;
    for (const ActionRecord& phase : record.phases) {
      mine.push_back(phase.operations);
      EXPECT_GE(phase.elapsed_ns(), 0);
      EXPECT_GE(phase.busy_ns, 0);
      if (facts_of(phase.measured.action).subject != Subject::listing) {
        EXPECT_EQ(phase.latencies.count(), static_cast<std::uint64_t>(phase.operations));
      }
    }
    std::vector<std::int64_t> all(mine.size());
    MPI_Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_INT64_T, MPI_SUM,
                  job().world);
    const auto plan = plan_json(variant, options)["metadata"];
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int64_t planned = plan[i]["operations"];
      EXPECT_EQ(all[i], planned) << "operations of " << facts_of(actions[i]).name;
    }
  }
};

[[nodiscard]] inline bool is_missing(std::string_view api) {
  FileContent content(0, 0);
  return !OpenCalls::open(*interface_named(api), {}, content, {});
}

// Returns what GoogleTest accepts as a part of a test's name.
[[nodiscard]] inline std::string short_name(std::string name) {
  std::erase_if(name, [](unsigned char character) { return std::isalnum(character) == 0; });
  return name;
}

}  // namespace weir::bench::metadata
