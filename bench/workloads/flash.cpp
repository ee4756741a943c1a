// The flash workload: FLASH's checkpoints and plot files of an adaptive mesh, written by Weir, HDF5
// and PnetCDF, with busy work between them.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/settings.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/flash/execute.hpp"
#include "workloads/flash/flash_run.hpp"
#include "workloads/flash/parameters.hpp"

namespace weir::bench::flash {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench flash";
constexpr const char* description =
    "Writes the checkpoints and plot files of the FLASH code for a blast wave on an adaptive mesh, "
    "with busy work between them. Reports the throughput that the program observes and that of the "
    "storage.";

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
    const std::string option = fmt::format("flash: --api {}", variant.api->name);
    if (Status status = check_available(*variant.api, option); !status) return status.error();
  }
  Options options = options_of(settings);
  Status fits = check_combination(options, core.value(), variants.value(), ranks);
  if (!fits) return fits.error();
  return Request{std::move(settings), std::move(core).value(), std::move(options),
                 std::move(variants).value()};
}

std::int64_t bytes_of_file(const Request& request, const Variant& variant, Stream stream,
                           std::int64_t ranks) {
  const Deal deal(request.options.blocks, ranks, request.options.block_seed);
  return bytes_of_file(stream, request.options, deal.blocks(), variant.api->can.netcdf);
}

std::int64_t bytes_of_files(const Request& request, const Variant& variant, std::int64_t ranks) {
  std::int64_t bytes = 0;
  for (const Stream stream : all_streams) {
    bytes += files_of(stream, request.options) * bytes_of_file(request, variant, stream, ranks);
  }
  return bytes;
}

// Returns one configuration's settings under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, variant_table(), variant);
  parameters["collective"] = {{"value", true}, {"origin", "default"}};
  return parameters;
}

ordered_json plan_json(const Request& request, const Variant& variant, std::int64_t ranks) {
  const Options& options = request.options;
  const std::int64_t memory =
      Executor::memory_bytes(options, Deal(options.blocks, ranks, options.block_seed));
  ordered_json plan;
  plan["ranks"] = ranks;
  plan["files"] = options.checkpoints + options.plots;
  plan["memory_bytes_per_rank"] = memory;
  plan["memory_bytes_total"] = memory * ranks;
  plan["disk_bytes_total"] = bytes_of_files(request, variant, ranks);
  plan["phases"] = ordered_json::array();
  for (const Stream stream : all_streams) {
    const std::int64_t files = files_of(stream, options);
    const std::int64_t bytes = bytes_of_file(request, variant, stream, ranks);
    if (files == 0) continue;
    plan["phases"].push_back({{"function", name_of(stream)},
                              {"direction", "write"},
                              {"operations_per_rank", files},
                              {"bytes_per_operation", bytes / ranks},
                              {"bytes_total", files * bytes},
                              {"computations_per_operation", 0.0},
                              {"exposed_operations_per_rank", files}});
  }
  return plan;
}

class FlashWorkload final : public SweptWorkload {
 public:
  explicit FlashWorkload(Request request) : request_(std::move(request)) {}

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const override {
    std::vector<PlannedConfiguration> all;
    all.reserve(request_.variants.size());
    for (const Variant& variant : request_.variants) {
      all.push_back({variant.label(), variant.slug(), false, own_parameters(request_, variant),
                     plan_json(request_, variant, ranks)});
    }
    return all;
  }

  [[nodiscard]] std::int64_t transfer_bytes(std::int64_t ranks) const override {
    const Deal deal(request_.options.blocks, ranks, request_.options.block_seed);
    return deal.most() * request_.options.cells() * 8;
  }

  Status check_nodes(const Job& job) override {
    const Deal deal(request_.options.blocks, job.size, request_.options.block_seed);
    return check_memory(job, request_.core, Executor::memory_bytes(request_.options, deal),
                        &hog_bytes_);
  }

  [[nodiscard]] Status check_room(std::int64_t ranks) const override {
    std::int64_t most = 0;
    std::int64_t all = 0;
    for (const Variant& variant : request_.variants) {
      const std::int64_t bytes = bytes_of_files(request_, variant, ranks);
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

  // Also makes the tree and allocates the memory.
  Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(const JobUnderWay& under_way,
                                                           std::vector<ordered_json> started,
                                                           int* failed_rank) override {
    auto hog = MemoryHog::create(hog_bytes_);
    Status status = agree_on(under_way.job, hog ? Status() : hog.error(), failed_rank);
    if (!status) return status.error();
    hog_ = std::move(hog).value();
    executor_ =
        std::make_unique<Executor>(under_way.job, under_way.guard, request_.core, request_.options);
    if (status = executor_->begin(); !status) {
      *failed_rank = executor_->failed_rank();
      return status.error();
    }
    std::vector<std::unique_ptr<SweptRun>> runs;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      const Variant& variant = request_.variants[i];
      auto run = std::make_unique<FlashRun>(
          Configuration{
              .variant = variant,
              .folder = fmt::format("{}/{}", under_way.folders.test_directory, variant.slug()),
              .payload_seed = under_way.folders.seed + i},
          request_.options, *executor_, std::move(started[i]));
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

  void print(const JobUnderWay& under_way) const override {
    fmt::print("{}", table(request_.options, executor_->deal(), printed_));
    if (request_.options.keep) fmt::print("files kept: {}\n", under_way.folders.test_directory);
  }

 private:
  Request request_;
  std::int64_t hog_bytes_ = 0;
  MemoryHog hog_;
  std::unique_ptr<Executor> executor_;
  std::vector<const FlashRun*> printed_;
};

}  // namespace
}  // namespace weir::bench::flash

namespace weir::bench {

int run_flash(const std::vector<std::string>& arguments) {
  using namespace flash;
  return run_swept_workload(
      "flash", arguments,
      resolve_settings(program, description, declarations(), arguments, process_environment),
      [](const Settings& settings, std::int64_t ranks) {
        return workload_for<FlashWorkload>(request_of(settings, ranks));
      });
}

}  // namespace weir::bench
