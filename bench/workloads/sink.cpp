// The sink workload: every rank sends messages of one size to where they are dropped, by Weir, a
// stager, POSIX calls and MPI-IO, over a range of sizes.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "measurement/node_memory.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/sink/execute.hpp"
#include "workloads/sink/parameters.hpp"
#include "workloads/sink/sink_run.hpp"

namespace weir::bench::sink {
namespace {

using nlohmann::ordered_json;

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
};

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  auto variants = variants_of(settings);
  if (!variants) return variants.error();
  for (const Variant& variant : variants.value()) {
    const std::string option = fmt::format("sink: --api {}", variant.api->name);
    if (Status status = check_available(*variant.api, option); !status) return status.error();
  }
  Options options = options_of(settings);
  Status fits = check_combination(options, core.value(), variants.value(), ranks);
  if (!fits) return fits.error();
  return Request{std::move(settings), std::move(core).value(), std::move(options),
                 std::move(variants).value()};
}

// Returns one configuration's settings under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, variant_table(), variant);
  parameters["iterations"]["value"] = request.options.messages(variant);
  parameters["collective"] = {{"value", variant.api->can.collective}, {"origin", "default"}};
  return parameters;
}

ordered_json plan_json(const Options& options, const Variant& variant, std::int64_t ranks) {
  const std::int64_t messages = options.messages(variant);
  return planned(ranks, 1, Executor::memory_bytes(variant.message_bytes),
                 variant.message_bytes * ranks,
                 {{.function = "write",
                   .operations_per_rank = messages,
                   .bytes_per_operation = variant.message_bytes,
                   .bytes_total = variant.message_bytes * messages * ranks}});
}

class SinkWorkload final : public SweptWorkload {
 public:
  explicit SinkWorkload(Request request) : request_(std::move(request)) {}

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const override {
    std::vector<PlannedConfiguration> all;
    all.reserve(request_.variants.size());
    for (const Variant& variant : request_.variants) {
      all.push_back({variant.label(), variant.slug(), false, own_parameters(request_, variant),
                     plan_json(request_.options, variant, ranks)});
    }
    return all;
  }

  [[nodiscard]] std::int64_t transfer_bytes(std::int64_t /*ranks*/) const override {
    return largest();
  }

  Status check_nodes(const Job& job) override {
    return check_memory(job, request_.core, Executor::memory_bytes(largest()), &hog_bytes_);
  }

  [[nodiscard]] Status check_room(std::int64_t ranks) const override {
    return check_disk(request_.core, largest() * ranks);
  }

  [[nodiscard]] TestFiles test_files(const JobFolders& folders) const override {
    return {
        .directory = folders.test_directory, .paths = {}, .job_folders = {folders.test_directory}};
  }

  // This also allocates the memory.
  Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(const JobUnderWay& under_way,
                                                           std::vector<ordered_json> started,
                                                           int* failed_rank) override {
    auto hog = MemoryHog::create(hog_bytes_);
    Status status = agree_on(under_way.job, hog ? Status() : hog.error(), failed_rank);
    if (!status) return status.error();
    hog_ = std::move(hog).value();
    const JobFolders& folders = under_way.folders;
    executor_ =
        std::make_unique<Executor>(under_way.job, under_way.guard, request_.core, request_.options);
    if (status = executor_->begin(request_.variants); !status) {
      *failed_rank = executor_->failed_rank();
      return status.error();
    }
    std::vector<std::unique_ptr<SweptRun>> runs;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      const Variant& variant = request_.variants[i];
      auto run = std::make_unique<SinkRun>(
          Configuration{.variant = variant,
                        .path = fmt::format("{}/weir-{}", folders.test_directory, variant.slug()),
                        .payload_seed = folders.seed + i},
          request_.options, *executor_, folders.test_directory, std::move(started[i]));
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

  [[nodiscard]] std::vector<std::string> few_bytes() const override {
    return {"--message-bytes=1", "--rank-bytes=0", "--iterations=200"};
  }

  void print(const JobUnderWay& /*under_way*/) const override { fmt::print("{}", table(printed_)); }

 private:
  [[nodiscard]] std::int64_t largest() const {
    std::int64_t most = 0;
    for (const Variant& one : request_.variants) most = std::max(most, one.message_bytes);
    return most;
  }

  Request request_;
  std::int64_t hog_bytes_ = 0;
  MemoryHog hog_;
  std::unique_ptr<Executor> executor_;
  std::vector<const SinkRun*> printed_;
};

}  // namespace
}  // namespace weir::bench::sink

namespace weir::bench {

int run_sink(const std::vector<std::string>& arguments) {
  using namespace sink;
  return run_swept_workload(
      "sink", arguments,
      resolve_settings("weir-bench sink",
                       "Sends messages from every rank to where they are dropped, over a range of "
                       "sizes, by one interface or several.",
                       declarations(), arguments, process_environment),
      [](const Settings& settings, std::int64_t ranks) {
        return workload_for<SinkWorkload>(request_of(settings, ranks));
      });
}

}  // namespace weir::bench
