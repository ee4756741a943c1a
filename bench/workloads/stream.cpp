// The synthetic workload: large and small transfers in IOR's patterns, through five interfaces.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/settings.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/phase_record.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/stream/execute.hpp"
#include "workloads/stream/ior_options.hpp"
#include "workloads/stream/parameters.hpp"
#include "workloads/stream/plan.hpp"
#include "workloads/stream/stream_run.hpp"

namespace weir::bench::stream {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench stream";
constexpr const char* description =
    "Writes and reads files in IOR's patterns. Accepts IOR's letters and -O directives.";

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
  std::vector<Target> targets;
};

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  Request request;
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  request.core = std::move(core).value();
  auto options = options_of(settings, ranks);
  if (!options) return options.error();
  request.options = std::move(options).value();
  auto variants = variants_of(settings);
  if (!variants) return variants.error();
  request.variants = std::move(variants).value();
  const std::vector<bool> file_per_rank(1, request.variants.front().file_per_rank);
  if (Status form = choose_form(file_per_rank, ranks, &request.core.targets); !form) {
    return invalid_argument("stream: " + form.error().message);
  }
  for (const Variant& variant : request.variants) {
    const std::string option = fmt::format("stream: -a {}", variant.api->title);
    if (Status status = check_available(*variant.api, option); !status) return status.error();
  }
  Status fits = check_combination(request.options, request.core, request.variants, ranks);
  if (!fits) return fits.error();
  auto targets = targets_of(request.options);
  if (!targets) return targets.error();
  request.targets = std::move(targets).value();
  // The file system that is described and checked is the one that holds the files.
  if (!request.targets.empty()) request.core.directory = request.targets.front().directory;
  request.settings = std::move(settings);
  return request;
}

// Returns one configuration's settings under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, variant_table(), variant);
  parameters["write"]["value"] = request.options.write;
  parameters["read"]["value"] = request.options.read;
  return parameters;
}

struct LargestNeeds {
  std::int64_t memory_bytes_per_rank = 0;
  std::int64_t disk_bytes = 0;
  std::int64_t transfer_bytes = 0;
};

LargestNeeds largest_needs(const Request& request, std::int64_t ranks) {
  LargestNeeds needs;
  for (const Variant& variant : request.variants) {
    const std::int64_t disk =
        request.options.write ? layout_of(variant, request.options, ranks).total_bytes() : 0;
    needs.memory_bytes_per_rank = std::max(needs.memory_bytes_per_rank,
                                           memory_bytes_per_rank(variant, request.options, ranks));
    needs.disk_bytes = std::max(needs.disk_bytes, disk);
    needs.transfer_bytes = std::max(needs.transfer_bytes, variant.transfer_bytes);
  }
  return needs;
}

// Fails if a target has too little room. Every target holds its ranks' part; existing files need no
// further room. Before a stonewall a run writes less than without it, by an unknown amount. Local.
Status check_targets(const Request& request, std::int64_t ranks) {
  const LargestNeeds needs = largest_needs(request, ranks);
  Status usable = check_directory(request.core.directory, request.core.striping);
  if (usable.ok()) usable = check_targets(request.core.directory, request.core.targets);
  if (!usable) return usable;
  const bool any_room = request.options.use_existing || request.options.stonewall_seconds > 0;
  const auto targets = static_cast<std::int64_t>(std::max<std::size_t>(1, request.targets.size()));
  for (std::int64_t i = 0; i < targets; ++i) {
    CoreSettings at = request.core;
    if (!request.targets.empty()) {
      at.directory = request.targets[static_cast<std::size_t>(i)].directory;
    }
    if (Status status = check_directory(at.directory, at.striping); !status) return status;
    if (any_room) continue;
    const std::int64_t mine = (ranks - i + targets - 1) / targets;
    const std::int64_t bytes = targets == 1 ? needs.disk_bytes : needs.disk_bytes / ranks * mine;
    if (Status status = check_disk(at, bytes); !status) return status;
  }
  return {};
}

class StreamWorkload final : public SweptWorkload {
 public:
  explicit StreamWorkload(Request request) : request_(std::move(request)) {}

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const override {
    std::vector<PlannedConfiguration> all;
    all.reserve(request_.variants.size());
    for (const Variant& variant : request_.variants) {
      all.push_back({variant.label, variant.slug, false, own_parameters(request_, variant),
                     plan_json(variant, request_.options, request_.targets, ranks)});
    }
    return all;
  }

  [[nodiscard]] std::int64_t transfer_bytes(std::int64_t ranks) const override {
    return largest_needs(request_, ranks).transfer_bytes;
  }

  [[nodiscard]] Status check_places(std::int64_t ranks) const override {
    return check_targets(request_, ranks);
  }

  [[nodiscard]] TestFiles leftovers(const JobFolders& folders) const override {
    return test_files(folders);
  }

  Status check_nodes(const Job& job) override {
    return check_memory(job, request_.core, largest_needs(request_, job.size).memory_bytes_per_rank,
                        &hog_bytes_);
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
    executor_ = std::make_unique<Executor>(under_way.job, under_way.guard, request_.core,
                                           request_.options, test_files(folders));
    std::vector<std::unique_ptr<SweptRun>> runs;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      const Variant& variant = request_.variants[i];
      Configuration configuration{
          .variant = variant,
          .layout = layout_of(variant, request_.options, under_way.job.size),
          .files = FileNames(request_.options, variant, targets_in(folders), folders.test_directory,
                             folders.id),
          .payload_seed = folders.seed + i};
      auto run = std::make_unique<StreamRun>(std::move(configuration), request_.options, *executor_,
                                             std::move(started[i]));
      printed_.push_back(run.get());
      runs.push_back(std::move(run));
    }
    return runs;
  }

  [[nodiscard]] std::vector<std::string> notes() const override {
    const SettingValue& most = request_.settings.values().find("max-repetitions")->second;
    if (most.origin != SettingOrigin::default_value || request_.core.repetitions.maximum > 1) {
      return {};
    }
    return {
        "an IOR command line without -i: every configuration runs once, as with IOR; -i N runs it "
        "N times, --repetitions 3 until the median is known"};
  }

  [[nodiscard]] std::string measured_directory(const JobFolders& /*folders*/) const override {
    return printed_.front()->configuration().files.directories().front();
  }

  // The table may be written to a file.
  Status finish(const JobUnderWay& under_way, int* failed_rank) override {
    Status status;
    if (under_way.job.rank == 0) {
      status = print_summary(under_way.job, under_way.folders, request_.options, request_.core,
                             under_way.command, printed_);
    }
    return agree_on(under_way.job, std::move(status), failed_rank);
  }

  [[nodiscard]] ordered_json failure_details(const Job& job) const override {
    return payload_errors(executor_->payload_faults(), job.rank);
  }

 private:
  // Returns where the files lie: the places of -o, or the job's folders on --targets, or nothing.
  [[nodiscard]] std::vector<Target> targets_in(const JobFolders& folders) const {
    std::vector<Target> targets = request_.targets;
    if (request_.core.targets.empty()) return targets;
    targets.push_back({folders.test_directory, ""});
    for (const std::string& one : folders.further_test_directories) targets.push_back({one, ""});
    return targets;
  }

  Request request_;
  std::int64_t hog_bytes_ = 0;
  MemoryHog hog_;
  std::unique_ptr<Executor> executor_;
  std::vector<const StreamRun*> printed_;
};

Result<ResolvedSettings> resolve(const std::vector<std::string>& arguments) {
  std::vector<Setting> all = declarations();
  auto translated = translate_ior(all, arguments);
  if (!translated) return translated.error();
  if (runs_once_in_ior(all, arguments)) {
    // These are new defaults, so that the environment and settings files still override them.
    for (Setting& setting : all) {
      if (setting.name == "warmups") setting.default_value = "0";
      if (setting.name == "repetitions" || setting.name == "max-repetitions") {
        setting.default_value = "1";
      }
    }
  }
  return resolve_settings(program, description, all, translated.value(), process_environment);
}

}  // namespace
}  // namespace weir::bench::stream

namespace weir::bench {

int run_stream(const std::vector<std::string>& arguments) {
  using namespace stream;
  return run_swept_workload("stream", arguments, resolve(arguments),
                            [](const Settings& settings, std::int64_t ranks) {
                              return workload_for<StreamWorkload>(request_of(settings, ranks));
                            });
}

}  // namespace weir::bench
