#include "workloads/flagfile.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/settings.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/flagfile/execute.hpp"
#include "workloads/flagfile/parameters.hpp"
#include "workloads/flagfile/plan.hpp"
#include "workloads/flagfile/results.hpp"
#include "workloads/flagfile/table.hpp"

namespace weir::bench::flagfile {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench flagfile";
constexpr const char* description =
    "Some ranks poll a file until its content lets them continue, as programs do that communicate "
    "by files; other ranks call stat on their own files. Reports how much the pollers slow down "
    "the other ranks.";

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
};

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  auto options = options_of(settings, ranks);
  if (!options) return options.error();
  if (Status fits = check_core(core.value(), options.value()); !fits) return fits.error();
  auto variants = variants_of(settings, options.value(), ranks);
  if (!variants) return variants.error();
  return Request{std::move(settings), std::move(core).value(), std::move(options).value(),
                 std::move(variants).value()};
}

// Returns one configuration's settings under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, {});
  parameters["pollers"] = {
      {"value", variant.pollers},
      {"origin", request.settings.has("pollers") ? "command line" : "default"}};
  return parameters;
}

class FlagWorkload final : public SweptWorkload {
 public:
  explicit FlagWorkload(Request request) : request_(std::move(request)) {}

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const override {
    std::vector<PlannedConfiguration> all;
    all.reserve(request_.variants.size());
    for (const Variant& variant : request_.variants) {
      all.push_back({variant.label, variant.slug, false, own_parameters(request_, variant),
                     plan_json(request_.options, ranks)});
    }
    return all;
  }

  [[nodiscard]] TestFiles test_files(const JobFolders& folders) const override {
    return {
        .directory = folders.test_directory, .paths = {}, .job_folders = {folders.test_directory}};
  }

  Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(const JobUnderWay& under_way,
                                                           std::vector<ordered_json> started,
                                                           int* failed_rank) override {
    executor_ = std::make_unique<Executor>(under_way.job, under_way.guard, request_.core,
                                           request_.options, under_way.folders.test_directory);
    if (Status made = executor_->begin(); !made) {
      *failed_rank = executor_->failed_rank();
      return made.error();
    }
    std::vector<std::unique_ptr<SweptRun>> runs;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      auto run = std::make_unique<FlagRun>(request_.variants[i], request_.options, *executor_,
                                           std::move(started[i]));
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

  void print(const JobUnderWay& /*under_way*/) const override { fmt::print("{}", table(printed_)); }

 private:
  Request request_;
  std::unique_ptr<Executor> executor_;
  std::vector<const FlagRun*> printed_;
};

}  // namespace
}  // namespace weir::bench::flagfile

namespace weir::bench {

int run_flagfile(const std::vector<std::string>& arguments) {
  using namespace flagfile;
  return run_swept_workload(
      "flagfile", arguments,
      resolve_settings(program, description, declarations(), arguments, process_environment),
      [](const Settings& settings, std::int64_t ranks) {
        return workload_for<FlagWorkload>(request_of(settings, ranks));
      });
}

}  // namespace weir::bench
