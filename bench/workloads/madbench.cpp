// The workloads `madbench` and `madcap`: MADbench2 in I/O mode and in full mode, and the analysis
// from which it is derived (Borrill et al., "HPC Global File System Performance Analysis Using A
// Scientific-Application Derived Benchmark").
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/settings.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/madbench/buffers.hpp"
#include "workloads/madbench/execute.hpp"
#include "workloads/madbench/full/full_work.hpp"
#include "workloads/madbench/full/madcap_work.hpp"
#include "workloads/madbench/full/scalapack.hpp"
#include "workloads/madbench/io_work.hpp"
#include "workloads/madbench/message_work.hpp"
#include "workloads/madbench/plan.hpp"
#include "workloads/madbench/request.hpp"
#include "workloads/madbench/results.hpp"

namespace weir::bench::madbench {
namespace {

using nlohmann::ordered_json;

constexpr Program madbench_program = {
    "madbench", "weir-bench madbench",
    "MADbench2: functions S, W and C on out-of-core matrices; with --full, S, D, W and C.", false};
constexpr Program madcap_program = {
    "madcap", "weir-bench madcap",
    "MADCAP: the spectrum of a simulated map by Newton-Raphson iteration, out of core.", true};

// Returns one configuration's settings: for a list, the configuration's own value, and the number
// of pixels also if it was chosen by the memory.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = measured_settings(request.settings);
  parameters["pixels"]["value"] = request.size.no_pix;
  for (const FieldSetting<Variant>& one : variant_table()) {
    parameters[std::string(one.setting().name)]["value"] = one.show(variant);
  }
  return parameters;
}

// Makes the work between the transfers. Collective over the job for full mode and madcap. Loading
// ScaLAPACK may fail on some ranks only.
Result<std::unique_ptr<Work>> make_work(const Job& job, FailureGuard& guard, const Request& request,
                                        Buffers& buffers) {
  if (request.calculation == Calculation::busy_work) {
    return std::unique_ptr<Work>(std::make_unique<IoWork>(
        request.size, request.alpha, request.core.compressible_percent, buffers));
  }
  if (request.calculation == Calculation::messages) {
    auto work = MessageWork::create(job, request.size, request.messages,
                                    request.core.compressible_percent, buffers);
    if (!work) return work.error();
    return std::unique_ptr<Work>(std::move(work).value());
  }
  const auto functions = load_scalapack();
  int failed_rank = none_failed;
  Status status = agree_on(job, functions ? Status() : Status(functions.error()), &failed_rank);
  if (!status) return status.error();
  const FullInputs inputs{.job = job,
                          .guard = guard,
                          .size = request.size,
                          .remap_by_scalapack = request.remap == "SCALAPACK",
                          .functions = *functions.value(),
                          .buffers = buffers};
  if (request.calculation == Calculation::full) {
    return std::unique_ptr<Work>(
        std::make_unique<FullWork>(inputs, madbench_analysis(request.size)));
  }
  auto madcap = std::make_unique<MadcapWork>(inputs, request.madcap);
  if (status = madcap->simulate(); !status) return status.error();
  return std::unique_ptr<Work>(std::move(madcap));
}

class MadbenchWorkload final : public SweptWorkload {
 public:
  explicit MadbenchWorkload(Request request) : request_(std::move(request)) {}
  MadbenchWorkload(const MadbenchWorkload&) = delete;
  MadbenchWorkload& operator=(const MadbenchWorkload&) = delete;
  ~MadbenchWorkload() override {
    if (work_ && !ended_well_) work_->abandon();
  }

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t /*ranks*/) const override {
    const Request& r = request_;
    std::vector<PlannedConfiguration> all;
    all.reserve(r.variants.size());
    for (const Variant& variant : r.variants) {
      // request_of() has checked the sizes.
      all.push_back({label_of(variant), slug_of(variant), variant.mode == Mode::async,
                     own_parameters(r, variant),
                     plan_json(r.size, variant, r.alpha, r.calculation, r.directories).value()});
    }
    return all;
  }

  [[nodiscard]] std::int64_t transfer_bytes(std::int64_t /*ranks*/) const override {
    const bool moves = std::any_of(request_.variants.begin(), request_.variants.end(),
                                   [](const Variant& v) { return v.mode != Mode::none; });
    return moves ? largest_share_bytes() : 0;
  }

  [[nodiscard]] Status check_places(std::int64_t /*ranks*/) const override {
    const CoreSettings& core = request_.core;
    Status status = check_directory(core.directory, core.striping);
    if (status.ok()) status = check_targets(core.directory, core.targets);
    for (const std::string& directory : core.further_directories) {
      if (status.ok()) status = check_directory(directory, core.striping);
    }
    return status;
  }

  [[nodiscard]] TestFiles leftovers(const JobFolders& folders) const override {
    return test_files(folders);
  }

  Status check_nodes(const Job& job) override {
    return check_memory(job, request_.core,
                        memory_bytes_per_rank(request_.layout, request_.calculation), &hog_bytes_);
  }

  // The largest share of a directory is that of the first one.
  [[nodiscard]] Status check_room(std::int64_t ranks) const override {
    const auto directories =
        static_cast<std::int64_t>(1 + request_.core.further_directories.size());
    const std::int64_t of_rank = request_.layout.disk_bytes() / ranks;
    const std::int64_t needed = of_rank * ((ranks + directories - 1) / directories);
    CoreSettings at = request_.core;
    Status status = check_disk(at, needed);
    for (const std::string& directory : request_.core.further_directories) {
      at.directory = directory;
      if (status.ok()) status = check_disk(at, needed);
    }
    return status;
  }

  // This also allocates the memory.
  Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(const JobUnderWay& under_way,
                                                           std::vector<ordered_json> started,
                                                           int* failed_rank) override {
    const Job& job = under_way.job;
    auto hog = MemoryHog::create(hog_bytes_);
    auto buffers = Buffers::create(largest_share_bytes());
    Status status = hog ? Status() : hog.error();
    if (!buffers && status.ok()) status = buffers.error();
    if (status = agree_on(job, std::move(status), failed_rank); !status) return status.error();
    hog_ = std::move(hog).value();
    buffers_.emplace(std::move(buffers).value());
    auto work = make_work(job, under_way.guard, request_, *buffers_);
    status = work ? Status() : work.error();
    if (work) work_ = std::move(work).value();
    status = agree_on(job, std::move(status), failed_rank);
    if (!status) return status.error();
    executor_ =
        std::make_unique<Executor>(job, under_way.guard, request_.core, request_.size, *work_);

    TestFiles files = test_files(under_way.folders);
    std::vector<std::string> directories = {files.directory};
    directories.insert(directories.end(), files.job_folders.begin(), files.job_folders.end());
    std::vector<std::unique_ptr<SweptRun>> runs;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      const Variant& variant = request_.variants[i];
      Configuration configuration{
          .variant = variant,
          .layout = Layout::create(request_.size, variant.file_type).value(),
          .label = label_of(variant),
          .slug = slug_of(variant),
          .directories = directories,
          .payload_seed = under_way.folders.seed + i};
      for (const int step : {0, 1, job.size - 1}) {
        files.paths.push_back(configuration.file_of((job.rank + step) % job.size));
      }
      auto run = std::make_unique<MadbenchRun>(std::move(configuration), *executor_,
                                               std::move(started[i]));
      runs_.push_back(run.get());
      runs.push_back(std::move(run));
    }
    for (MadbenchRun* run : runs_) run->hold_against(synchronous_sibling(run));
    under_way.guard.set_test_files(std::move(files));
    return runs;
  }

  Status finish(const JobUnderWay& /*under_way*/, int* /*failed_rank*/) override {
    ended_well_ = true;
    return {};
  }

  [[nodiscard]] std::vector<std::string> notes() const override {
    const Request& r = request_;
    if (!r.filled_share) return {};
    constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
    const auto memory = static_cast<double>(r.layout.memory_bytes_per_rank());
    return {
        fmt::format("NO_PIX is {}, with which the matrices of {} ranks take {:.2f} GiB, {:g} % "
                    "of the memory that is available to them",
                    r.size.no_pix, r.size.no_pe,
                    memory * static_cast<double>(r.size.no_pe) / gibibyte, *r.filled_share * 100)};
  }

  [[nodiscard]] ordered_json decided() const override {
    ordered_json values = ordered_json::object();
    if (request_.filled_share) values["pixels"] = request_.size.no_pix;
    return values;
  }

  [[nodiscard]] std::string measured_directory(const JobFolders& /*folders*/) const override {
    return request_.core.directory;
  }

  [[nodiscard]] ordered_json failure_details(const Job& job) const override {
    return payload_errors(executor_->payload_faults(), job.rank);
  }

  void print(const JobUnderWay& /*under_way*/) const override {
    const bool is_full =
        request_.calculation == Calculation::full || request_.calculation == Calculation::madcap;
    const char* between = "";
    for (MadbenchRun* run : runs_) {
      TableHead head{request_.size, run->configuration().variant, request_.remap, request_.alpha,
                     is_full};
      if (is_full) {
        head.first_correction = run->run()["spectrum"]["bins"][0]["correction"].get<double>();
      }
      fmt::print("{}{}", std::exchange(between, "\n"), original_table(head, run->median_times()));
    }
    if (request_.calculation == Calculation::messages) print_losses();
    fmt::print("{}", work_->report());
  }

 private:
  // Prints what messages and I/O cost each other, where SYNC and ASYNC were both measured.
  void print_losses() const {
    for (const MadbenchRun* run : runs_) {
      if (run->sibling() == nullptr || run->sibling() == run) continue;
      fmt::print("\n{:<10}{:>12}{:>12}{:>10}  interval   ({}, MiB/s of all ranks)\n{}", "", "alone",
                 "together", "kept", run->label(),
                 run->messages().lines(run->sibling()->messages()));
    }
  }

  [[nodiscard]] std::int64_t largest_share_bytes() const {
    return std::max(request_.layout.largest_share_bytes(GangLevel::all_ranks),
                    request_.layout.largest_share_bytes(GangLevel::gang));
  }

  [[nodiscard]] const MadbenchRun* synchronous_sibling(const MadbenchRun* run) const {
    const Variant& mine = run->configuration().variant;
    const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const MadbenchRun* other) {
      const Variant& v = other->configuration().variant;
      return v.method == mine.method && v.file_type == mine.file_type && v.mode == Mode::sync;
    });
    return found == runs_.end() ? nullptr : *found;
  }

  Request request_;
  std::int64_t hog_bytes_ = 0;
  MemoryHog hog_;
  std::optional<Buffers> buffers_;
  std::unique_ptr<Work> work_;
  std::unique_ptr<Executor> executor_;
  std::vector<MadbenchRun*> runs_;  // which the sweep owns
  bool ended_well_ = false;
};

int run(const Program& program, const std::vector<std::string>& arguments) {
  return run_swept_workload(
      program.workload, arguments,
      resolve_settings(program.title, program.description, declarations_of(program), arguments,
                       process_environment),
      [&program](const Settings& settings, std::int64_t ranks) {
        return workload_for<MadbenchWorkload>(request_of(
            program, settings, ranks, [ranks] { return memory_available_to_a_rank(ranks); }));
      });
}

}  // namespace
}  // namespace weir::bench::madbench

namespace weir::bench {

int run_madbench(const std::vector<std::string>& arguments) {
  return madbench::run(madbench::madbench_program, arguments);
}

int run_madcap(const std::vector<std::string>& arguments) {
  return madbench::run(madbench::madcap_program, arguments);
}

}  // namespace weir::bench
