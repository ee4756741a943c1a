// `weir-bench metadata` measures the cost of creating, looking up and removing files.
#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/clock.hpp"
#include "common/settings.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/stonewall_file.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/metadata/execute.hpp"
#include "workloads/metadata/mdtest_options.hpp"
#include "workloads/metadata/metarates_options.hpp"
#include "workloads/metadata/parameters.hpp"
#include "workloads/metadata/plan.hpp"
#include "workloads/metadata/results.hpp"
#include "workloads/metadata/table.hpp"

namespace weir::bench::metadata {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench metadata";
constexpr const char* description =
    "Creates, looks up, changes and removes files and directories. With --mdtest-compat it accepts "
    "mdtest's options and prints mdtest's table; with --metarates-compat those of metarates.";
constexpr const char* kept_folder = "weir-metadata";

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
};

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  auto options = options_of(settings);
  if (!options) return options.error();
  auto variants = variants_of(settings, ranks);
  if (!variants) return variants.error();
  Status fits = check_combination(options.value(), core.value(), variants.value());
  if (!fits) return fits.error();
  return Request{std::move(settings), std::move(core).value(), std::move(options).value(),
                 std::move(variants).value()};
}

// Returns the directory or, if it must still be created, the existing part of its path.
std::string existing_directory(const Request& request) {
  std::filesystem::path path = std::filesystem::absolute(request.core.directory).lexically_normal();
  std::error_code unknown;
  while (request.options.make_directory && !std::filesystem::exists(path, unknown) &&
         path.has_relative_path()) {
    path = path.parent_path();
  }
  return request.options.make_directory ? path.string() : request.core.directory;
}

// Fails if an interface lacks something on this rank's node that the request needs.
Status check_interfaces(const Request& request) {
  for (const Variant& variant : request.variants) {
    FileContent content(0, 0);
    const auto opened =
        OpenCalls::open(*variant.api, {}, content, calls_on(request.options, variant));
    if (opened) continue;
    return invalid_argument(fmt::format("metadata: --api {}: {}; use --api POSIX or AT",
                                        variant.api->title, opened.error().message));
  }
  return {};
}

// Returns the folder of the trees: the job's own folder, or a folder that outlives the job. On rank
// 0.
std::string root_of(const Request& request, const JobFolders& folders) {
  if (!request.options.keep && !request.options.existing) return folders.test_directory;
  const std::filesystem::path directory =
      std::filesystem::absolute(request.core.directory).lexically_normal();
  return (directory / kept_folder).string();
}

Status make_root(const Request& request, const std::string& root) {
  if (request.options.existing) {
    struct stat found {};
    if (stat(root.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return {};
    return invalid_argument(fmt::format(
        "--existing: {} does not exist: create it with a run with --keep (mdtest's -C)", root));
  }
  if (!request.options.keep || mkdir(root.c_str(), 0755) == 0) return {};
  if (errno != EEXIST) return system_failure("mkdir", root, -1, errno);
  return invalid_argument(fmt::format(
      "--keep: {} already exists, from an earlier run: use it with --existing, or remove it",
      root));
}

// Returns whether the file system supports extended attributes. This is only checked for `all`.
bool has_attributes(const std::string& root) {
  return setxattr(root.c_str(), attribute_name, attribute_value, sizeof attribute_value, 0) == 0;
}

// Removes setxattr and getxattr from `all` if they are unsupported. Collective; returns whether it
// did so.
bool leave_out_attributes(const Job& job, const std::string& root, Options* options) {
  const auto asked = [&](Action action) {
    return std::count(options->actions.begin(), options->actions.end(), action) > 0 &&
           std::count(options->named.begin(), options->named.end(), action) == 0;
  };
  if (!asked(Action::setxattr) && !asked(Action::getxattr)) return false;
  int there = job.rank == 0 && has_attributes(root) ? 1 : 0;
  MPI_Bcast(&there, 1, MPI_INT, 0, job.world);
  if (there != 0) return false;
  for (const Action action : {Action::setxattr, Action::getxattr}) {
    if (asked(action)) std::erase(options->actions, action);
  }
  return true;
}

// Converts "2026-11-21T23:05:01Z" to "11/21/2026 23:05:01".
std::string mdtest_time(const std::string& utc) {
  constexpr std::size_t whole = 20;
  if (utc.size() < whole) return utc;
  return fmt::format("{}/{}/{} {}", utc.substr(5, 2), utc.substr(8, 2), utc.substr(0, 4),
                     utc.substr(11, 8));
}

void print_tables(const Job& job, const Request& request, const JobFolders& folders,
                  const std::string& root, const std::vector<std::string>& command,
                  const std::vector<const MetadataRun*>& runs) {
  const Options& options = request.options;
  for (const MetadataRun* run : runs) {
    const TreeShape& shape = run->variant().shape;
    if (options.metarates) {
      fmt::print("{}\n", metarates_table({.path = root,
                                          .ranks = job.size,
                                          .files_per_rank = shape.items(0),
                                          .unique_directories = shape.sharing == Sharing::per_rank},
                                         run->history()));
      continue;
    }
    if (!options.mdtest.any()) {
      fmt::print("{}\n", weir_table(run->label(), run->history()));
      continue;
    }
    const bool one_file = shape.sharing == Sharing::one_file;
    const bool directories = options.kinds.directories && !one_file;
    std::string line;
    for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
    fmt::print("{}", mdtest_table({.began = mdtest_time(folders.started_utc),
                                   .finished = mdtest_time(utc_now()),
                                   .path = root,
                                   .command = line,
                                   .ranks = job.size,
                                   .nodes = job.nodes,
                                   .items = shape.all_items(),
                                   .files = options.kinds.files,
                                   .directories = directories},
                                  run->history(), options.mdtest.rates, options.mdtest.times));
  }
}

class MetadataWorkload final : public SweptWorkload {
 public:
  explicit MetadataWorkload(Request request) : request_(std::move(request)) {}

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t /*ranks*/) const override {
    std::vector<PlannedConfiguration> all;
    all.reserve(request_.variants.size());
    for (const Variant& variant : request_.variants) {
      all.push_back({variant.label, variant.slug, false,
                     result_parameters(request_.settings, variant_table(), variant),
                     plan_json(variant, request_.options)});
    }
    return all;
  }

  [[nodiscard]] Status check_places(std::int64_t /*ranks*/) const override {
    return check_directory(existing_directory(request_), request_.core.striping);
  }

  [[nodiscard]] Status check_room(std::int64_t /*ranks*/) const override {
    // The number of items that a stonewall leaves is unknown.
    if (request_.options.existing || request_.options.stonewall_seconds > 0) return {};
    CoreSettings core = request_.core;
    core.directory = existing_directory(request_);
    std::int64_t bytes = 0;
    for (const Variant& variant : request_.variants) {
      bytes = std::max(bytes, disk_bytes(variant, request_.options));
    }
    return check_disk(core, bytes);
  }

  Status make_places() override {
    if (!request_.options.make_directory) return {};
    std::error_code error;
    std::filesystem::create_directories(request_.core.directory, error);
    return error ? system_failure("mkdir", request_.core.directory, -1, error.value()) : Status();
  }

  Status check_nodes(const Job& job) override {
    int failed_rank = none_failed;
    Status status = agree_on(job, check_interfaces(request_), &failed_rank);
    if (status.ok() || status.error().code == ErrorCode::deadline) return status;
    // Rank 0 prints the error. Its own node may have what another node lacks, so the text comes
    // from the failed rank.
    std::array<char, 1024> text{};
    if (job.rank == failed_rank) status.error().text().copy(text.data(), text.size() - 1);
    MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, failed_rank, job.world);
    return invalid_argument(text.data());
  }

  Status prepare(const JobUnderWay& under_way, int* failed_rank) override {
    const Job& job = under_way.job;
    if (Status status = take_stonewalled_items(job, failed_rank); !status) return status;
    root_ = root_of(request_, under_way.folders);
    Status status =
        agree_on(job, job.rank == 0 ? make_root(request_, root_) : Status(), failed_rank);
    if (!status) return status;
    // This run must not remove what earlier runs kept.
    TestFiles own{under_way.folders.test_directory, {}};
    if (!request_.options.existing) own.job_folders = {root_};
    under_way.guard.set_test_files(own);
    without_attributes_ =
        leave_out_attributes(job, under_way.folders.test_directory, &request_.options);
    return {};
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    if (!without_attributes_) return {};
    return {"setxattr and getxattr were left out, because the file system has no user attributes"};
  }

  Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(const JobUnderWay& under_way,
                                                           std::vector<ordered_json> started,
                                                           int* /*failed_rank*/) override {
    executor_ =
        std::make_unique<Executor>(under_way.job, under_way.guard, request_.core, request_.options,
                                   root_, under_way.folders.seed, ClientCalls::of(root_));
    std::vector<std::unique_ptr<SweptRun>> runs;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      auto run = std::make_unique<MetadataRun>(request_.variants[i], request_.options, *executor_,
                                               std::move(started[i]));
      printed_.push_back(run.get());
      runs.push_back(std::move(run));
    }
    return runs;
  }

  [[nodiscard]] std::string measured_directory(const JobFolders& /*folders*/) const override {
    return root_;
  }

  // This also removes what earlier runs had kept, if this run has emptied it.
  Status finish(const JobUnderWay& under_way, int* /*failed_rank*/) override {
    if (under_way.job.rank != 0 || !request_.options.existing) return {};
    if (rmdir(root_.c_str()) != 0 && errno != ENOTEMPTY) {
      fmt::print(stderr, "weir-bench: {}\n", system_failure("rmdir", root_, -1, errno).text());
    }
    return {};
  }

  void print(const JobUnderWay& under_way) const override {
    print_tables(under_way.job, request_, under_way.folders, root_, under_way.command, printed_);
  }

 private:
  // Reads how many items of each rank exist, if the run that kept them had a stonewall.
  Status take_stonewalled_items(const Job& job, int* failed_rank) {
    const std::string& file = request_.options.stonewall_file;
    if (!request_.options.existing || file.empty()) return {};
    std::int64_t items = -1;
    Status status;
    if (job.rank == 0) {
      auto found = read_stonewall_file(file);
      status = found ? Status() : Status(found.error());
      items = found ? found.value().value_or(-1) : -1;
    }
    if (status = agree_on(job, std::move(status), failed_rank); !status) return status;
    MPI_Bcast(&items, 1, MPI_INT64_T, 0, job.world);
    for (Variant& variant : request_.variants) {
      if (items >= 0) variant.shape.items_per_rank = items;
    }
    return {};
  }

  Request request_;
  std::string root_;  // the folder that contains the trees
  bool without_attributes_ = false;
  std::unique_ptr<Executor> executor_;
  std::vector<const MetadataRun*> printed_;
};

Result<ResolvedSettings> resolve(const std::vector<std::string>& arguments) {
  auto renamed = translate_mdtest(arguments);
  if (!renamed) return renamed.error();
  auto translated = translate_metarates(renamed.value());
  if (!translated) return translated.error();
  if (Status status = refuse_letters(translated.value()); !status) return status.error();
  return resolve_settings(program, description, declarations(), translated.value(),
                          process_environment);
}

}  // namespace
}  // namespace weir::bench::metadata

namespace weir::bench {

int run_metadata(const std::vector<std::string>& arguments) {
  using namespace metadata;
  return run_swept_workload("metadata", arguments, resolve(arguments),
                            [](const Settings& settings, std::int64_t ranks) {
                              return workload_for<MetadataWorkload>(request_of(settings, ranks));
                            });
}

}  // namespace weir::bench
