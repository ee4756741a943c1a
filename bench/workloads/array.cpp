// The array workload: writes and reads whole arrays and sections through Weir's interface and
// through other interfaces, for comparison.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/settings.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/array/array_run.hpp"
#include "workloads/array/execute.hpp"
#include "workloads/array/parameters.hpp"
#include "workloads/array/plan.hpp"

namespace weir::bench::array_io {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench array";
constexpr const char* description =
    "Writes and reads a distributed array, or a section of it, by one interface or several.";

struct Request {
  Settings settings;
  CoreSettings core;
  Geometry geometry;
  Options options;
  std::vector<Variant> variants;
};

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  auto geometry = geometry_of(settings, ranks);
  if (!geometry) return geometry.error();
  auto options = options_of(settings, geometry.value());
  if (!options) return options.error();
  auto variants = variants_of(settings, options.value().peak);
  if (!variants) return variants.error();
  for (const Variant& variant : variants.value()) {
    const std::string option = fmt::format("array: --api {}", variant.api->name);
    if (Status status = check_available(*variant.api, option); !status) return status.error();
  }
  Status fits =
      check_combination(geometry.value(), options.value(), core.value(), variants.value());
  if (!fits) return fits.error();
  if (const auto& directories = options.value().directories; !directories.empty()) {
    core.value().directory = directories.front();
    core.value().further_directories = {directories.begin() + 1, directories.end()};
  }
  return Request{std::move(settings), std::move(core).value(), std::move(geometry).value(),
                 std::move(options).value(), std::move(variants).value()};
}

// Returns one configuration's settings under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings);
  const auto settled = [](const ordered_json& value) {
    return ordered_json{{"value", value}, {"origin", "default"}};
  };
  const Geometry& geometry = request.geometry;
  parameters["api"]["value"] = variant.name();
  parameters["write"]["value"] = request.options.write;
  parameters["read"]["value"] = request.options.read;
  // The sync happens once, at the end, for every interface. `collective` says whether data may move
  // between hosts.
  parameters["sync_each"] = settled(false);
  parameters["collective"] = settled(!variant.contiguous && variant.api->can.collective);
  // These are the values that were chosen where the command line leaves them open.
  const auto settle = [&](const char* name, const std::string& value) {
    if (!parameters.contains(name)) parameters[name] = settled(value);
    parameters[name]["value"] = value;
  };
  settle("grid", array::extents_text(geometry.writing.grid().extents));
  settle("read_grid", array::extents_text(geometry.reading.grid().extents));
  if (request.options.chunk) settle("chunk", array::extents_text(*request.options.chunk));
  return parameters;
}

// Returns the bytes of the files that exist at the same time: one file, or one per configuration
// with --existing. With several directories it is the share in each.
std::int64_t disk_bytes(const Request& request) {
  const auto files = request.options.existing ? request.variants.size() : 1;
  const std::int64_t bytes = request.geometry.array_bytes() * static_cast<std::int64_t>(files);
  return bytes /
         static_cast<std::int64_t>(std::max<std::size_t>(1, request.options.directories.size()));
}

// Fails if a directory is missing or has too little room. Local.
Status check_directories(const Request& request) {
  CoreSettings at = request.core;
  for (std::size_t i = 0; i <= request.core.further_directories.size(); ++i) {
    if (i > 0) at.directory = request.core.further_directories[i - 1];
    if (Status status = check_directory(at.directory, at.striping); !status) return status;
    if (Status status = check_disk(at, disk_bytes(request)); !status) return status;
  }
  return {};
}

class ArrayWorkload final : public SweptWorkload {
 public:
  explicit ArrayWorkload(Request request) : request_(std::move(request)) {}

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const override {
    std::vector<PlannedConfiguration> all;
    all.reserve(request_.variants.size());
    for (const Variant& variant : request_.variants) {
      all.push_back({variant.label, variant.slug, false, own_parameters(request_, variant),
                     plan_json(request_.geometry, request_.options, variant, ranks)});
    }
    return all;
  }

  [[nodiscard]] std::int64_t transfer_bytes(std::int64_t ranks) const override {
    return std::max<std::int64_t>(1, request_.geometry.asked_bytes() / ranks);
  }

  [[nodiscard]] Status check_places(std::int64_t /*ranks*/) const override {
    return check_directories(request_);
  }

  Status check_nodes(const Job& job) override {
    return check_memory(job, request_.core, memory_bytes_per_rank(request_.geometry), &hog_bytes_);
  }

  // With --existing, the files of the last repetition are still there.
  [[nodiscard]] TestFiles leftovers(const JobFolders& folders) const override {
    return test_files(folders);
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
    std::vector<std::string> test_directories = {folders.test_directory};
    test_directories.insert(test_directories.end(), folders.further_test_directories.begin(),
                            folders.further_test_directories.end());
    executor_ = std::make_unique<Executor>(under_way.job, under_way.guard, request_.core,
                                           request_.geometry, request_.options, test_directories);
    std::vector<std::unique_ptr<ArrayRun>> made;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      const Variant& variant = request_.variants[i];
      made.push_back(std::make_unique<ArrayRun>(
          Configuration{.variant = variant,
                        .path = fmt::format("{}/weir-{}", folders.test_directory, variant.slug),
                        .payload_seed = folders.seed + i},
          request_.options, *executor_, test_directories, std::move(started[i])));
    }
    std::vector<std::unique_ptr<SweptRun>> runs;
    runs.reserve(made.size());
    for (auto& run : made) {
      if (request_.options.peak) run->hold_against(made.back().get());
      printed_.push_back(run.get());
    }
    for (auto& run : made) runs.push_back(std::move(run));
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

  void print(const JobUnderWay& /*under_way*/) const override {
    fmt::print("{}", table(request_.geometry, printed_));
  }

 private:
  Request request_;
  std::int64_t hog_bytes_ = 0;
  MemoryHog hog_;
  std::unique_ptr<Executor> executor_;
  std::vector<const ArrayRun*> printed_;
};

}  // namespace
}  // namespace weir::bench::array_io

namespace weir::bench {

int run_array(const std::vector<std::string>& arguments) {
  using namespace array_io;
  return run_swept_workload(
      "array", arguments,
      resolve_settings(program, description, declarations(), arguments, process_environment),
      [](const Settings& settings, std::int64_t ranks) {
        return workload_for<ArrayWorkload>(request_of(settings, ranks));
      });
}

}  // namespace weir::bench
