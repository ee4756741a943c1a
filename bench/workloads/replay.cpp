// `weir-bench replay` makes the calls that a program made, as `weir record` recorded them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/checked.hpp"
#include "common/setting_fields.hpp"
#include "measurement/node_memory.hpp"
#include "measurement/phased_run.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/replay/execute.hpp"

namespace weir::bench::replay {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench replay";
constexpr const char* description =
    "Makes the calls that a program made, which `weir record` recorded: the same offsets and sizes "
    "in the same order on each rank, with busy work for the time between them. Files are new ones "
    "in --directory, and every byte that is written or read is compared.";

constexpr double largest_scale = 1000;

struct Options {
  std::string record;
  double time_scale = 1;
  bool sleeps = false;
};

struct Variant {
  const Interface* api = nullptr;
};

FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::api,
       interface_words(
           [](const Capabilities& can) { return can.ranges && (can.part_by_runs || can.bare); },
           &Interface::name),
       "api",
       "interface; several make several configurations, interleaved. With mpiio the collective "
       "calls of a record are collective, unless a rank replays several ranks; all others are "
       "independent",
       {.default_value = "posix", .metavar = "LIST", .letter = "a"}},
  });
}

FieldSettings<Options> options_table() {
  return {
      {&Options::record,
       "record",
       "file that `weir record` wrote",
       {.metavar = "FILE", .position = "FILE"}},
      {&Options::time_scale,
       "time-scale",
       "factor of the times between the calls; 0: no time between them",
       {.default_value = "1", .metavar = "FACTOR", .range = {0, largest_scale}}},
      {&Options::sleeps,
       {{"busy", false}, {"sleep", true}},
       "between",
       "what a rank does between its calls: busy work as a program that computes, or sleep as one "
       "that waits",
       {.default_value = "busy", .metavar = "WHAT"}},
  };
}

std::vector<Setting> declarations() {
  return with_core_settings(
      declarations_of(options_table(), variant_table()),
      {{.name = "sync",
        .default_value = "none",
        .help = "also make a file durable before a rank that wrote it closes it; none: where the "
                "program did"},
       {.name = "drop-cache",
        .help = "drop the cached pages of bytes that exist before the replay"},
       {.name = "direct", .help = "not allowed for this workload"},
       {.name = "rank-shift", .help = "not allowed for this workload"}});
}

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
  Record record;  // without the lines of ranks
};

Error refuse(const std::string& rule) { return invalid_argument("replay: " + rule); }

// The sums of a job, whose ranks replay the ranks of a record.
struct JobSums {
  std::int64_t copies = 1;
  RankSums all;   // of all ranks together; largest_bytes: of one call
  RankSums most;  // each figure of the rank with most
};

// Returns nothing if a sum exceeds 63 bits.
std::optional<JobSums> sums_of(const Record& record, std::int64_t ranks) {
  JobSums sums;
  const auto recorded = std::ssize(record.sums);
  sums.copies = (ranks + recorded - 1) / recorded;
  std::vector<RankSums> by_rank(static_cast<std::size_t>(std::min(ranks, recorded)));
  const auto add = [](const RankSums& one, std::int64_t times, RankSums* to) {
    for (const auto field :
         {&RankSums::calls, &RankSums::reads, &RankSums::writes, &RankSums::bytes_read,
          &RankSums::bytes_written, &RankSums::gap_ns, &RankSums::call_ns, &RankSums::blocks}) {
      const auto product = checked_multiply(one.*field, times);
      const auto sum = product ? checked_add(to->*field, *product) : product;
      if (!sum) return false;
      to->*field = *sum;
    }
    to->largest_bytes = std::max(to->largest_bytes, one.largest_bytes);
    return true;
  };
  for (std::int64_t i = 0; i < recorded; ++i) {
    const RankSums& one = record.sums[static_cast<std::size_t>(i)];
    const std::int64_t times = ranks < recorded ? 1 : ranks / recorded + (i < ranks % recorded);
    if (!add(one, times, &sums.all)) return std::nullopt;
    if (!add(one, 1, &by_rank[static_cast<std::size_t>(i) % by_rank.size()])) return std::nullopt;
  }
  for (const RankSums& one : by_rank) {
    for (const auto field : {&RankSums::reads, &RankSums::writes, &RankSums::gap_ns,
                             &RankSums::largest_bytes, &RankSums::blocks}) {
      sums.most.*field = std::max(sums.most.*field, one.*field);
    }
  }
  return sums;
}

Status check_core(const CoreSettings& core) {
  if (core.direct) {
    return refuse("--direct: the offsets and sizes are the program's, which O_DIRECT may refuse");
  }
  if (core.rank_shift != 0) {
    return refuse("--rank-shift: the record says which rank reads what: use --drop-cache");
  }
  return {};
}

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  if (Status fits = check_core(core.value()); !fits) return fits.error();
  Options options;
  fill(settings, options_table(), &options);
  if (options.record.empty()) return refuse("give a FILE that `weir record` wrote");
  std::vector<Variant> variants = combinations(settings, variant_table());
  std::set<std::string_view> taken;
  for (const Variant& variant : variants) {
    if (!taken.insert(variant.api->name).second) {
      return refuse(fmt::format("--api: {} is given twice", variant.api->name));
    }
  }
  auto record = read_record(options.record, [](std::int64_t /*rank*/) { return false; });
  if (!record) {
    Error error = record.error();
    error.code = ErrorCode::invalid_argument;
    error.message = "replay: " + error.message;
    return error;
  }
  const auto sums = sums_of(record.value(), ranks);
  if (!sums) return refuse("the ranks together would move more than 2^63 bytes: give fewer ranks");
  if (sums->all.reads + sums->all.writes == 0) {
    return refuse("the record has no call that reads or writes: record more with --under");
  }
  const double gaps = static_cast<double>(sums->most.gap_ns) / 1e9 * options.time_scale;
  if (gaps >= core.value().deadline_seconds) {
    return refuse(fmt::format(
        "a rank spends {:.0f} s between its calls: give a --deadline beyond that, or a smaller "
        "--time-scale",
        gaps));
  }
  return Request{std::move(settings), std::move(core).value(), std::move(options),
                 std::move(variants), std::move(record).value()};
}

// Returns an upper bound of the bytes in files.
std::int64_t disk_bytes(const Record& record, const JobSums& sums) {
  std::int64_t ends = 0;
  for (const FileFacts& file : record.files) {
    ends = checked_add(ends, file.end).value_or(most_file_bytes);
    ends = std::min(ends, most_file_bytes);
  }
  const std::int64_t moved = sums.all.bytes_written + sums.all.bytes_read;
  return std::min(moved, checked_multiply(ends, sums.copies).value_or(moved));
}

PlannedPhase phase_of(Direction direction, std::int64_t operations, std::int64_t bytes,
                      std::int64_t ranks) {
  return {.function = bench::name_of(direction),
          .direction = direction,
          .operations_per_rank = (operations + ranks - 1) / ranks,
          .bytes_per_operation = bytes / operations,
          .bytes_total = bytes};
}

ordered_json plan_json(const Record& record, std::int64_t ranks) {
  const JobSums sums = sums_of(record, ranks).value_or(JobSums{});
  std::vector<PlannedPhase> phases;
  if (sums.all.writes > 0) {
    phases.push_back(phase_of(Direction::write, sums.all.writes, sums.all.bytes_written, ranks));
  }
  if (sums.all.reads > 0) {
    phases.push_back(phase_of(Direction::read, sums.all.reads, sums.all.bytes_read, ranks));
  }
  return planned(ranks, std::ssize(record.files) * sums.copies, Executor::memory_bytes(sums.most),
                 disk_bytes(record, sums), phases);
}

// Returns one configuration's settings under the names that results share.
ordered_json own_parameters(const Request& request, const Variant& variant) {
  ordered_json parameters = result_parameters(request.settings, variant_table(), variant);
  parameters["sync_each"] = {{"value", false}, {"origin", "default"}};
  parameters["recorded_ranks"] = {{"value", std::ssize(request.record.sums)},
                                  {"origin", "default"}};
  parameters["recorded_command"] = {{"value", request.record.command}, {"origin", "default"}};
  return parameters;
}

class ReplayRun final : public PhasedRun {
 public:
  // The executor must outlive the run. `run` is the run.json so far, on rank 0.
  ReplayRun(Configuration configuration, ResultSubject subject, Executor& executor,
            ordered_json run)
      : PhasedRun(std::string(configuration.api->name), std::string(configuration.api->name),
                  std::move(subject), std::move(run)),
        configuration_(configuration),
        executor_(executor) {}

  Status repeat(std::int32_t repetition) override {
    auto record = executor_.run(configuration_, repetition);
    if (!record) return record.error();
    record_ = std::move(record).value();
    return {};
  }
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }

 private:
  Configuration configuration_;
  Executor& executor_;
};

class ReplayWorkload final : public SweptWorkload {
 public:
  explicit ReplayWorkload(Request request) : request_(std::move(request)) {}

  [[nodiscard]] const CoreSettings& core() const override { return request_.core; }

  [[nodiscard]] std::vector<PlannedConfiguration> configurations(
      std::int64_t ranks) const override {
    std::vector<PlannedConfiguration> all;
    all.reserve(request_.variants.size());
    for (const Variant& variant : request_.variants) {
      const std::string name(variant.api->name);
      all.push_back({name, name, false, own_parameters(request_, variant),
                     plan_json(request_.record, ranks)});
    }
    return all;
  }

  [[nodiscard]] std::int64_t transfer_bytes(std::int64_t ranks) const override {
    return sums(ranks).most.largest_bytes;
  }

  Status check_nodes(const Job& job) override {
    return check_memory(job, request_.core, Executor::memory_bytes(sums(job.size).most),
                        &hog_bytes_);
  }
  [[nodiscard]] Status check_room(std::int64_t ranks) const override {
    return check_disk(request_.core, disk_bytes(request_.record, sums(ranks)));
  }

  [[nodiscard]] TestFiles test_files(const JobFolders& folders) const override {
    return {
        .directory = folders.test_directory, .paths = {}, .job_folders = {folders.test_directory}};
  }

  // This also reads the lines of this rank.
  Result<std::vector<std::unique_ptr<SweptRun>>> make_runs(const JobUnderWay& under_way,
                                                           std::vector<ordered_json> started,
                                                           int* failed_rank) override {
    const Job& job = under_way.job;
    auto hog = MemoryHog::create(hog_bytes_);
    Status status = hog ? Status() : hog.error();
    if (hog) hog_ = std::move(hog).value();
    const Part part = part_of(job.rank, job.size, std::ssize(request_.record.sums));
    auto record = read_record(request_.options.record, [&](std::int64_t rank) {
      return std::find(part.recorded_ranks.begin(), part.recorded_ranks.end(), rank) !=
             part.recorded_ranks.end();
    });
    if (status.ok() && !record) status = record.error();
    if (status.ok() && record.value().sums.size() != request_.record.sums.size()) {
      status = invalid_argument("replay: the record has changed while the job began");
    }
    if (status = agree_on(job, std::move(status), failed_rank); !status) return status.error();
    record_ = std::move(record).value();
    const JobSums all = sums(job.size);
    executor_ =
        std::make_unique<Executor>(job, under_way.guard, request_.core,
                                   Executor::Work{.record = record_,
                                                  .part = part,
                                                  .time_scale = request_.options.time_scale,
                                                  .sleeps = request_.options.sleeps,
                                                  .writes = all.all.writes > 0,
                                                  .reads = all.all.reads > 0,
                                                  .together = replays_together(job.size),
                                                  .folder = under_way.folders.test_directory});
    if (status = executor_->begin(); !status) {
      *failed_rank = executor_->failed_rank();
      return status.error();
    }
    const ResultSubject subject{.write = all.all.writes > 0,
                                .read = all.all.reads > 0,
                                .directories = {under_way.folders.test_directory},
                                .how_verified =
                                    "every read is compared when it has ended, and every byte that "
                                    "was written is read and compared after the replay, outside "
                                    "the timed calls; bytes are a function of seed, repetition, "
                                    "file and place"};
    std::vector<std::unique_ptr<SweptRun>> runs;
    for (std::size_t i = 0; i < request_.variants.size(); ++i) {
      runs.push_back(std::make_unique<ReplayRun>(
          Configuration{request_.variants[i].api, under_way.folders.seed + i}, subject, *executor_,
          std::move(started[i])));
      printed_.push_back(runs.back().get());
    }
    return runs;
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    RankSums missed;
    for (const RankSums& one : request_.record.sums) {
      missed.missed_calls += one.missed_calls;
      missed.missed_bytes += one.missed_bytes;
    }
    if (missed.missed_calls == 0) return {};
    return {fmt::format("the record lacks {} calls with {} bytes, which are not replayed",
                        missed.missed_calls, missed.missed_bytes)};
  }

  [[nodiscard]] ordered_json failure_details(const Job& job) const override {
    return payload_errors(executor_->payload_faults(), job.rank);
  }

  Status finish(const JobUnderWay& under_way, int* failed_rank) override {
    return agree_on(under_way.job, executor_->finish(), failed_rank);
  }

  void print(const JobUnderWay& under_way) const override {
    const JobSums all = sums(under_way.job.size);
    fmt::print("{:<10}{:>14}{:>16}{:>14}{:>16}\n", "", "bytes written", "MiB/s", "bytes read",
               "MiB/s");
    for (const SweptRun* run : printed_) {
      std::array<double, 2> rates{};
      for (const ordered_json& rate : run->run()["rates"]) {
        if (rate["metric"] != "slowest_rank") continue;
        rates.at(rate["direction"] == "write" ? 0 : 1) = rate["median_bytes_per_second"];
      }
      fmt::print("{:<10}{:>14}{:>16.1f}{:>14}{:>16.1f}\n", run->label(), all.all.bytes_written,
                 rates[0] / mebibyte, all.all.bytes_read, rates[1] / mebibyte);
    }
  }

 private:
  static constexpr double mebibyte = 1048576;

  // Returns whether a configuration makes collective calls as such: ranks that replay several
  // ranks, one after the other, would wait for themselves.
  [[nodiscard]] bool replays_together(std::int64_t ranks) const {
    return ranks >= std::ssize(request_.record.sums) &&
           std::ranges::any_of(request_.variants,
                               [](const Variant& one) { return one.api->can.collective; });
  }

  [[nodiscard]] JobSums sums(std::int64_t ranks) const {
    return sums_of(request_.record, ranks).value_or(JobSums{});
  }

  Request request_;
  Record record_;  // with the lines of this rank
  std::int64_t hog_bytes_ = 0;
  MemoryHog hog_;
  std::unique_ptr<Executor> executor_;
  std::vector<const SweptRun*> printed_;
};

}  // namespace
}  // namespace weir::bench::replay

namespace weir::bench {

int run_replay(const std::vector<std::string>& arguments) {
  using namespace replay;
  return run_swept_workload(
      "replay", arguments,
      resolve_settings(program, description, declarations(), arguments, process_environment),
      [](const Settings& settings, std::int64_t ranks) {
        return workload_for<ReplayWorkload>(request_of(settings, ranks));
      });
}

}  // namespace weir::bench
