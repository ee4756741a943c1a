// `weir-bench open` measures the cost of creating and opening files that ranks share.
#include <fmt/format.h>
#include <mpi.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "adapters/calls/counted_path.hpp"
#include "common/settings.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/open/execute.hpp"
#include "workloads/open/own_calls.hpp"
#include "workloads/open/parameters.hpp"
#include "workloads/open/plan.hpp"
#include "workloads/open/results.hpp"
#include "workloads/open/table.hpp"

namespace weir::bench::opening {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench open";
constexpr const char* description =
    "Creates one file and opens it again, on all ranks, and reports the time and the number of "
    "metadata operations that reached the file system.";

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
};

Result<Request> request_of(Settings settings) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  if (Status fits = refuse_data_settings(core.value(), "open"); !fits) return fits.error();
  auto options = options_of(settings);
  if (!options) return options.error();
  auto variants = variants_of(settings, options.value());
  if (!variants) return variants.error();
  return Request{std::move(settings), std::move(core).value(), std::move(options).value(),
                 std::move(variants).value()};
}

// Returns whether all ranks can count their calls, the same on every rank. On rank 0 `why_not`
// becomes the reason if they cannot.
bool all_can_count(const Job& job, const OwnCalls& calls, const std::string& root,
                   std::string* why_not) {
  if (!calls::is_counted_path(root + "/")) {
    *why_not = fmt::format(
        "metadata operations were not counted: libweir_calls ignores files below {}; give another "
        "--directory",
        root.substr(0, root.find('/', 1)));
    return false;
  }
  int mine = calls.why_not().empty() ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, job.world);
  *why_not = calls.why_not().empty() && all == 0
                 ? "metadata operations were not counted: some ranks run without libweir_calls"
                 : calls.why_not();
  return all == 1;
}

class OpenWorkload final : public SweptWorkload {
 public:
  explicit OpenWorkload(Request request) : request_(std::move(request)) {}

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const override {
    std::vector<PlannedConfiguration> all;
    all.reserve(request_.variants.size());
    for (const Variant& variant : request_.variants) {
      all.push_back({variant.label, variant.slug, false,
                     result_parameters(request_.settings, variant_table(), variant),
                     plan_json(variant, request_.options, ranks)});
    }
    return all;
  }

  [[nodiscard]] TestFiles test_files(const JobFolders& folders) const override {
    return {
        .directory = folders.test_directory, .paths = {}, .job_folders = {folders.test_directory}};
  }

  Status prepare(const JobUnderWay& under_way, int* /*failed_rank*/) override {
    counts_ = request_.options.count &&
              all_can_count(under_way.job, calls_, under_way.folders.test_directory, &why_not_);
    return {};
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    return why_not_.empty() ? std::vector<std::string>() : std::vector<std::string>{why_not_};
  }

  // This also counts the calls.
  Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(const JobUnderWay& under_way,
                                                           std::vector<ordered_json> started,
                                                           int* failed_rank) override {
    executor_ = std::make_unique<Executor>(
        under_way.job, under_way.guard, request_.core, request_.options, calls_,
        under_way.folders.test_directory, under_way.folders.seed);
    std::vector<std::unique_ptr<SweptRun>> runs;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      CountedSteps counted;
      if (counts_) {
        auto found = executor_->count(request_.variants[i]);
        if (!found) {
          *failed_rank = executor_->failed_rank();
          return found.error();
        }
        counted = std::move(found).value();
      }
      auto run = std::make_unique<OpenRun>(request_.variants[i], request_.options, *executor_,
                                           std::move(counted), std::move(started[i]));
      printed_.push_back(run.get());
      runs.push_back(std::move(run));
    }
    return runs;
  }

  Status finish(const JobUnderWay& /*under_way*/, int* failed_rank) override {
    Status status = executor_->finish();
    *failed_rank = executor_->failed_rank();
    return status;
  }

  void print(const JobUnderWay& /*under_way*/) const override {
    for (const OpenRun* run : printed_) fmt::print("{}\n", table(*run));
  }

 private:
  Request request_;
  OwnCalls calls_;
  bool counts_ = false;  // calls can be counted, and the user wants it
  std::string why_not_;  // on rank 0: why calls cannot be counted
  std::unique_ptr<Executor> executor_;
  std::vector<const OpenRun*> printed_;
};

}  // namespace
}  // namespace weir::bench::opening

namespace weir::bench {

int run_open(const std::vector<std::string>& arguments) {
  using namespace opening;
  auto resolved =
      resolve_settings(program, description, declarations(), arguments, process_environment);
  if (resolved && !resolved.value().help && !plan_settings_of(resolved.value().settings).only) {
    // This happens before MPI_Init, because a program that starts itself again must not have called
    // it.
    if (const auto request = request_of(resolved.value().settings)) {
      if (request.value().options.count) OwnCalls::load();
      Status chosen = choose_mpi_io(request.value().options.mpi_io);
      if (!chosen) resolved = chosen.error();
    }
  }
  return run_swept_workload("open", arguments, resolved,
                            [](const Settings& settings, std::int64_t /*ranks*/) {
                              return workload_for<OpenWorkload>(request_of(settings));
                            });
}

}  // namespace weir::bench
