// `weir-bench flagfile` measures how ranks that poll a file slow down the other ranks. The results
// of the others and of the pollers are two actions, `stat` and `poll`, as in the workload metadata.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "common/setting_fields.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/histogram.hpp"
#include "measurement/result.hpp"
#include "measurement/series.hpp"
#include "measurement/swept_run.hpp"
#include "measurement/swept_workload.hpp"
#include "workloads/flagfile/execute.hpp"

namespace weir::bench::flagfile {
namespace {

using nlohmann::ordered_json;

constexpr const char* program = "weir-bench flagfile";
constexpr const char* description =
    "Some ranks poll a file until its content lets them continue, as programs do that communicate "
    "by files; other ranks call stat on their own files. Reports how much the pollers slow down "
    "the other ranks.";

constexpr double longest_seconds = 86'400;

FieldSettings<Variant> variant_table() {
  return varying<Variant>({
      {&Variant::pollers,
       "pollers",
       "numbers of ranks that poll the flag; each is a configuration [0, 1, 2, 4 and so "
       "on, up to all ranks without their own files]",
       {.metavar = "LIST"}},
  });
}

FieldSettings<Options> options_table() {
  return {
      {&Options::others,
       "others",
       "number of ranks that call stat on their own files, the same in all configurations "
       "[half of the ranks]",
       {.metavar = "N"}},
      {&Options::by_reading,
       {{"stat", false}, {"read", true}},
       "poll",
       "how a poller looks at the flag: stat, or open, read and close",
       {.default_value = "stat", .metavar = "CALL"}},
      {&Options::interval_seconds,
       "interval",
       "time between two polls of a rank",
       {.default_value = "0", .metavar = "SECONDS", .range = {0, longest_seconds}}},
      {&Options::seconds,
       "seconds",
       "time until rank 0 sets the flag, which ends a repetition",
       {.default_value = "1", .metavar = "SECONDS", .range = {0, longest_seconds, true}}},
      {&Options::files,
       "files",
       "number of files of each rank that calls stat",
       {.default_value = "100", .metavar = "N", .range = {1, 1'000'000}}},
  };
}

std::vector<Setting> declarations() {
  return with_core_settings(
      declarations_of(variant_table(), options_table()),
      {{.name = "sync",
        .default_value = "none",
        .help = "applies to data only: none is the only value here"},
       {.name = "verify",
        .help = "check the result of every stat, and the content that every poller read from the "
                "flag"}});
}

struct Request {
  Settings settings;
  CoreSettings core;
  Options options;
  std::vector<Variant> variants;
};

Error refuse(const std::string& rule) { return invalid_argument("flagfile: " + rule); }

Result<Options> options_of(const Settings& settings, std::int64_t ranks) {
  if (ranks < 2)
    return refuse(
        "this workload needs at least 2 ranks: one that polls, and one that has its own files");
  Options options{.others = (ranks + 1) / 2};
  fill(settings, options_table(), &options);
  if (options.others >= 1 && options.others < ranks) return options;
  return refuse(fmt::format("--others must be between 1 and {} on {} ranks; given: {}", ranks - 1,
                            ranks, options.others));
}

// Returns the variants in the settings. If none is given, they have 0, 1, 2, 4 and so on pollers,
// up to all ranks without files of their own.
Result<std::vector<Variant>> variants_of(const Settings& settings, const Options& options,
                                         std::int64_t ranks) {
  const std::int64_t most = ranks - options.others;
  std::vector<Variant> variants = combinations(settings, variant_table());
  if (!settings.given("pollers")) {
    for (std::int64_t some = 1; some < most; some *= 2) variants.push_back({some});
    variants.push_back({most});
  }
  std::set<std::int64_t> taken;
  for (const Variant& variant : variants) {
    if (variant.pollers > most) {
      return refuse(
          fmt::format("--pollers {}: of {} ranks, {} have their own files, so {} can poll",
                      variant.pollers, ranks, options.others, most));
    }
    if (!taken.insert(variant.pollers).second) {
      return refuse(fmt::format("--pollers: {} is given twice", variant.pollers));
    }
  }
  return variants;
}

Result<Request> request_of(Settings settings, std::int64_t ranks) {
  auto core = core_settings_of(settings);
  if (!core) return core.error();
  if (Status fits = refuse_data_settings(core.value(), "flagfile"); !fits) return fits.error();
  auto options = options_of(settings, ranks);
  if (!options) return options.error();
  if (std::max(options.value().seconds, options.value().interval_seconds) >=
      core.value().deadline_seconds) {
    return refuse("--seconds and --interval must be shorter than --deadline");
  }
  auto variants = variants_of(settings, options.value(), ranks);
  if (!variants) return variants.error();
  return Request{std::move(settings), std::move(core).value(), std::move(options).value(),
                 std::move(variants).value()};
}

std::string label_of(const Variant& variant, const Options& options) {  // "4 pollers by stat"
  return fmt::format("{} poller{} by {}", variant.pollers, variant.pollers == 1 ? "" : "s",
                     options.by_reading ? "read" : "stat");
}

std::string slug_of(const Variant& variant) { return fmt::format("pollers-{}", variant.pollers); }

ordered_json plan_json(const Options& options, std::int64_t ranks) {
  constexpr std::int64_t path_bytes = 256;
  const std::int64_t memory =
      2 * static_cast<std::int64_t>(sizeof(LatencyHistogram)) + options.files * path_bytes;
  // The number of operations in --seconds is only known after the run.
  return planned(ranks, options.others * options.files + 1, memory, 8);
}

constexpr std::array<Part, 2> parts = {Part::other, Part::poller};
constexpr std::array<const char*, 2> action_names = {"stat", "poll"};

double rate(double operations, double seconds) { return seconds > 0 ? operations / seconds : 0; }

// Collects the records of a configuration's repetitions, and makes its run.json of them.
class FlagRun final : public SweptRun {
 public:
  // The executor and the options must outlive the run. `run` is the run.json so far, on rank 0.
  FlagRun(Variant variant, const Options& options, Executor& executor, ordered_json run);

  Status repeat(std::int32_t repetition) override;
  [[nodiscard]] int failed_rank() const override { return executor_.failed_rank(); }

  [[nodiscard]] std::int64_t pollers() const { return variant_.pollers; }
  // The following functions are for rank 0.
  [[nodiscard]] const Rates& others() const { return rates_[0]; }
  [[nodiscard]] const Rates& polls() const { return rates_[1]; }
  // Returns the times from setting the flag until the last poller saw it.
  [[nodiscard]] const Series& notices() const { return notices_; }

 private:
  ordered_json figures(const JobFacts& facts, bool counted) override;
  void put_series(const RepetitionPolicy& policy) override;
  [[nodiscard]] bool converged(const RepetitionPolicy& policy) const override;
  [[nodiscard]] std::string how_verified() const override;
  // `part` is the number of the activity. Collective.
  ordered_json part_figures(const JobFacts& facts, std::size_t part, bool counted);
  void add_notice(const JobFacts& facts, bool counted);

  Variant variant_;
  const Options& options_;
  Executor& executor_;
  RankRecord record_;  // of the latest repeat()
  // The first are the rates of the other ranks, the second those of the pollers, if there are any.
  std::array<Rates, 2> rates_{Rates::of_operations(), Rates::of_operations()};
  Series notices_{Unit::seconds};
};

FlagRun::FlagRun(Variant variant, const Options& options, Executor& executor, ordered_json run)
    : SweptRun(label_of(variant, options), slug_of(variant), std::move(run)),
      variant_(variant),
      options_(options),
      executor_(executor) {
  for (const char* action : action_names) {
    if (variant_.pollers > 0 || activities_.empty()) activities_.emplace_back(action);
  }
  verifies_items_ = true;
}

Status FlagRun::repeat(std::int32_t /*repetition*/) {
  auto record = executor_.run(variant_);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

ordered_json FlagRun::figures(const JobFacts& facts, bool counted) {
  items_verified_ += record_.files_verified;
  ordered_json phases = ordered_json::array();
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    phases.push_back(part_figures(facts, i, counted));
  }
  if (variant_.pollers > 0) add_notice(facts, counted);
  return {{"metadata", std::move(phases)}};
}

void FlagRun::add_notice(const JobFacts& facts, bool counted) {
  const std::int64_t flag_ns =
      record_.part == Part::idle ? 0 : record_.flag_ns + facts.offset.offset_ns;
  const std::int64_t set_ns = facts.job.rank == 0 ? flag_ns : 0;
  const std::int64_t seen_ns = record_.part == Part::poller ? flag_ns : 0;
  std::int64_t last_ns = 0;
  MPI_Reduce(&seen_ns, &last_ns, 1, MPI_INT64_T, MPI_MAX, 0, facts.job.world);
  if (facts.job.rank != 0 || !counted) return;
  notices_.add(std::max(0.0, seconds_of(last_ns - set_ns)));
  compare_clocks_over(notices_.values().back());
}

ordered_json FlagRun::part_figures(const JobFacts& facts, std::size_t part, bool counted) {
  const Job& job = facts.job;
  const bool mine = record_.part == parts.at(part);
  // The figures are those of the part's own ranks: ranks without a part have no time.
  const double elapsed = mine ? seconds_of(record_.active.end_ns - record_.active.start_ns) : 0;
  const double busy = mine ? seconds_of(record_.busy_ns) : 0;
  const std::array<double, 3> times{elapsed, busy, mine ? seconds_of(record_.wait_ns) : 0};
  std::vector<Spread> spreads = spread_over_ranks(job, times);
  std::array<double, 3> least = times;
  if (!mine) least.fill(std::numeric_limits<double>::infinity());
  std::array<double, 3> least_of_part{};
  MPI_Reduce(least.data(), least_of_part.data(), 3, MPI_DOUBLE, MPI_MIN, 0, job.world);
  const auto members =
      static_cast<double>(parts.at(part) == Part::other ? options_.others : variant_.pollers);
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    spreads[i].min = least_of_part[i];
    spreads[i].mean *= job.size / members;
  }
  const std::int64_t operations = mine ? record_.operations : 0;
  const std::array<double, 2> own{static_cast<double>(operations),
                                  rate(static_cast<double>(operations), elapsed)};
  const std::vector<double> sums = sum_over_ranks(job, own);
  const ActivePeriod* const active = mine ? &record_.active : nullptr;
  const double span = span_over_ranks(job, active, facts.offset);
  const double node_span = span_over_node(job, active);
  std::int64_t node_operations = 0;
  double node_busy = 0;
  MPI_Reduce(&operations, &node_operations, 1, MPI_INT64_T, MPI_SUM, 0, job.node);
  MPI_Reduce(&busy, &node_busy, 1, MPI_DOUBLE, MPI_MAX, 0, job.node);
  if (counted) {
    activities_[part].add(
        job, mine ? record_.latencies : LatencyHistogram{},
        {node_operations, node_busy, rate(static_cast<double>(node_operations), node_span)});
  }
  if (job.rank != 0) return nullptr;
  const std::array<double, 3> rates{rate(sums[0], spreads[0].max + spreads[2].min),
                                    rate(sums[0], span), sums[1]};
  if (counted) rates_.at(part).add(rates);
  return {{"action", action_names.at(part)},
          {"operations", static_cast<std::int64_t>(sums[0])},
          {"barrier_per_second", rates[0]},
          {"span_per_second", rates[1]},
          {"sum_of_ranks_per_second", rates[2]},
          {"elapsed_seconds", spread_json(spreads[0], facts.hosts)},
          {"busy_seconds", spread_json(spreads[1], facts.hosts)},
          {"barrier_wait_seconds", spread_json(spreads[2], facts.hosts)}};
}

bool FlagRun::converged(const RepetitionPolicy& policy) const {
  return others().headline().converged(policy);
}

void FlagRun::put_series(const RepetitionPolicy& policy) {
  run()["metadata"] = ordered_json::array();
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    run()["metadata"].push_back(
        activities_[i].action_json("file", rates_.at(i), policy, nodes_, i));
  }
  run()["flag"] = {{"pollers", variant_.pollers},
                   {"others", options_.others},
                   {"by_reading", options_.by_reading},
                   {"interval_seconds", options_.interval_seconds},
                   {"notice", notices_.empty() ? ordered_json() : notices_.to_json(policy)}};
}

std::string FlagRun::how_verified() const {
  return "every stat of a rank's own files found an empty regular file; every poller read the word "
         "of this repetition from the flag";
}

// Returns the table that is printed at the end, with a line for each configuration. Rates are
// compared with that without pollers, if it was measured.
std::string table(const std::vector<const FlagRun*>& runs) {
  double alone = 0;
  for (const FlagRun* run : runs) {
    if (run->pollers() == 0) alone = run->others().headline().median();
  }
  std::string text = fmt::format("{:<10}{:>18}{:>16}{:>14}{:>14}\n", "pollers", "others' stat/s",
                                 "of unpolled", "polls/s", "seen after");
  for (const FlagRun* run : runs) {
    const double others = run->others().headline().median();
    text += fmt::format("{:<10}{:>18.0f}{:>16}", run->pollers(), others,
                        alone > 0 ? fmt::format("{:.0f} %", 100 * others / alone) : "");
    if (run->pollers() > 0) {
      text += fmt::format("{:>14.0f}{:>14}", run->polls().headline().median(),
                          fmt::format("{:.3f} ms", 1e3 * run->notices().median()));
    }
    text += '\n';
  }
  return text;
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
      all.push_back({label_of(variant, request_.options), slug_of(variant), false,
                     result_parameters(request_.settings, variant_table(), variant),
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
