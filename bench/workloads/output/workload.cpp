#include "workloads/output/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "interfaces/stager_ranks.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/output/execute.hpp"
#include "workloads/output/output_run.hpp"

namespace weir::bench::output {
namespace {

using nlohmann::ordered_json;

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
  std::unique_ptr<Content> content;
  std::vector<std::string> few_bytes;
};

Result<Request> request_of(const Program& program, Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  auto variants = variants_of(program.name, settings);
  if (!variants) return variants.error();
  for (const Variant& variant : variants.value()) {
    const std::string option = fmt::format("{}: --api {}", program.name, variant.api->name);
    if (Status status = check_available(*variant.api, option); !status) return status.error();
  }
  Options options = options_of(settings);
  Status fits = check_combination(program.name, options, core.value(), variants.value());
  if (!fits) return fits.error();
  auto content = program.content(settings, ranks, variants.value());
  if (!content) return content.error();
  return Request{std::move(settings),         std::move(core).value(),    std::move(options),
                 std::move(variants).value(), std::move(content).value(), program.few_bytes};
}

bool has_stager_ranks(const std::vector<Variant>& variants) {
  return std::ranges::any_of(variants,
                             [](const Variant& one) { return one.staging == Staging::ranks; });
}

std::int64_t bytes_of_files(const Content& content, const Variant& variant) {
  const std::vector<Kind> kinds = content.kinds();
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    bytes += kinds[i].files * bytes_of_file(content, i, variant.api->can.netcdf);
  }
  return bytes;
}

// Returns one configuration's settings under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, variant_table(), variant);
  parameters["collective"] = {{"value", true}, {"origin", "default"}};
  return parameters;
}

ordered_json plan_json(const Content& content, const Variant& variant, std::int64_t ranks) {
  const std::vector<Kind> kinds = content.kinds();
  std::int64_t files = 0;
  std::vector<PlannedPhase> phases;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::int64_t bytes = bytes_of_file(content, i, variant.api->can.netcdf);
    files += kinds[i].files;
    phases.push_back({.function = kinds[i].name,
                      .operations_per_rank = kinds[i].files,
                      .bytes_per_operation = bytes / ranks,
                      .bytes_total = kinds[i].files * bytes});
  }
  ordered_json plan = planned(ranks, files, Executor::memory_bytes(content),
                              bytes_of_files(content, variant), phases);
  // All ranks write one file after the other together.
  plan["ranks_per_file"] = ranks;
  return plan;
}

class Workload final : public SweptWorkload {
 public:
  explicit Workload(Request request) : request_(std::move(request)) {}

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const override {
    std::vector<PlannedConfiguration> all;
    all.reserve(request_.variants.size());
    for (const Variant& variant : request_.variants) {
      all.push_back({variant.label(), variant.slug(), false, own_parameters(request_, variant),
                     plan_json(content(), variant, ranks)});
    }
    return all;
  }

  [[nodiscard]] std::int64_t transfer_bytes(std::int64_t /*ranks*/) const override {
    std::int64_t most = 0;
    for (const Form& form : forms_of(content(), false)) {
      for (const FileArray& one : content().arrays(form, content().fullest_rank())) {
        most = std::max(most, one.box.bytes());
      }
    }
    return most;
  }

  Status check_nodes(const Job& job) override {
    return check_memory(job, request_.core, Executor::memory_bytes(content()), &hog_bytes_);
  }

  [[nodiscard]] Status check_room(std::int64_t /*ranks*/) const override {
    std::int64_t most = 0;
    std::int64_t all = 0;
    for (const Variant& variant : request_.variants) {
      const std::int64_t bytes = bytes_of_files(content(), variant);
      most = std::max(most, bytes);
      all += bytes;
    }
    return check_disk(request_.core, request_.options.keep ? all : most);
  }

  [[nodiscard]] TestFiles test_files(const JobFolders& folders) const override {
    return {
        .directory = folders.test_directory, .paths = {}, .job_folders = {folders.test_directory}};
  }
  [[nodiscard]] TestFiles leftovers(const JobFolders& folders) const override {
    if (request_.options.keep) return {};
    return {.directory = folders.test_directory, .paths = {}};
  }

  // This also prepares the content and allocates the memory.
  Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(const JobUnderWay& under_way,
                                                           std::vector<ordered_json> started,
                                                           int* failed_rank) override {
    auto hog = MemoryHog::create(hog_bytes_);
    Status status = agree_on(under_way.job, hog ? Status() : hog.error(), failed_rank);
    if (!status) return status.error();
    hog_ = std::move(hog).value();
    executor_ = std::make_unique<Executor>(under_way.job, under_way.guard, request_.core,
                                           request_.options, content());
    if (status = executor_->begin(); !status) {
      *failed_rank = executor_->failed_rank();
      return status.error();
    }
    std::vector<std::unique_ptr<SweptRun>> runs;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      const Variant& variant = request_.variants[i];
      auto run = std::make_unique<OutputRun>(
          Configuration{
              .variant = variant,
              .folder = fmt::format("{}/{}", under_way.folders.test_directory, variant.slug()),
              .payload_seed = under_way.folders.seed + i},
          request_.options, content(), *executor_, std::move(started[i]));
      printed_.push_back(run.get());
      runs.push_back(std::move(run));
    }
    return runs;
  }

  Status finish(const JobUnderWay& /*under_way*/, int* failed_rank) override {
    Status status = executor_->close();
    *failed_rank = executor_->failed_rank();
    return status;
  }

  [[nodiscard]] ordered_json failure_details(const Job& job) const override {
    return payload_errors(executor_->payload_faults(), job.rank);
  }

  [[nodiscard]] std::vector<std::string> notes() const override {
    if (!has_stager_ranks(request_.variants)) return {};
    return {
        "the last rank of each node gives its place to a stager, in all configurations; plan and "
        "expectation are those of one node"};
  }

  [[nodiscard]] std::vector<std::string> few_bytes() const override { return request_.few_bytes; }

  void print(const JobUnderWay& under_way) const override {
    fmt::print("{}", table(content(), printed_));
    if (request_.options.keep) fmt::print("files kept: {}\n", under_way.folders.test_directory);
  }

 private:
  [[nodiscard]] Content& content() const { return *request_.content; }

  Request request_;
  std::int64_t hog_bytes_ = 0;
  MemoryHog hog_;
  std::unique_ptr<Executor> executor_;
  std::vector<const OutputRun*> printed_;
};

}  // namespace

int run(const Program& program, const std::vector<std::string>& arguments) {
  const auto resolved =
      resolve_settings(fmt::format("weir-bench {}", program.name), program.description,
                       declarations(program.settings), arguments, process_environment);
  JobRanks job_ranks;
  if (resolved && !resolved.value().help) {
    const auto variants = variants_of(program.name, resolved.value().settings);
    if (variants && has_stager_ranks(variants.value())) {
      job_ranks = {.choose = run_beside_stagers, .left_out = stager_ranks_per_node};
    }
  }
  return run_swept_workload(
      program.name, arguments, resolved,
      [&](const Settings& settings, std::int64_t ranks) {
        return workload_for<Workload>(request_of(program, settings, ranks));
      },
      job_ranks);
}

}  // namespace weir::bench::output
