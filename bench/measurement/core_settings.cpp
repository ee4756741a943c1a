#include "measurement/core_settings.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "common/setting_fields.hpp"
#include "measurement/striping_settings.hpp"

namespace weir::bench {
namespace {

bool is_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<OccupiedMemory> occupied_memory_of(const std::string& text) {
  OccupiedMemory memory;
  if (!text.empty() && text.back() == '%') {
    int percent = 0;
    const char* end = text.data() + text.size() - 1;
    const auto [stop, error] = std::from_chars(text.data(), end, percent);
    memory.fraction = percent / 100.0;
    if (error == std::errc{} && stop == end && percent >= 0 && percent <= 95) return memory;
  } else if (const auto bytes = parse_bytes(text)) {
    memory.bytes = *bytes;
    return memory;
  }
  return invalid_argument(
      "is neither a size such as 8g nor a share of the node's free memory from 0% to 95%");
}

constexpr double most_repetitions = 1'000'000;

FieldSettings<CoreSettings> table() {
  return {
      {&CoreSettings::directory,
       "directory",
       "directory of the test files [files/ if it exists in the current directory, "
       "otherwise .]",
       {.metavar = "DIR"}},
      {&CoreSettings::output,
       "output",
       "new folder for the results [weir-results/TIME-WORKLOAD]",
       {.metavar = "FOLDER"}},
      {&CoreSettings::expectation,
       "expectation",
       "file with expectations, as `weir predict` writes it",
       {.metavar = "FILE"}},
      {&CoreSettings::progress_json,
       {{"none", false}, {"json", true}},
       "progress",
       "report progress on standard error",
       {.default_value = "none", .metavar = "FORM"}},
      {&CoreSettings::durability,
       {{"fsync", storage::Durability::full},
        {"fdatasync", storage::Durability::data},
        {"none", storage::Durability::none}},
       "sync",
       "when writes are made durable; the time counts as part of the write",
       {.default_value = "fsync", .metavar = "CALL"}},
      {&CoreSettings::direct, "direct", "bypass the page cache with O_DIRECT (POSIX only)"},
      {&CoreSettings::drop_cache, "drop-cache", "drop the files' cached pages before reading"},
      {&CoreSettings::rank_shift,
       "rank-shift",
       "in each later function use the data of the rank that is N ranks further",
       {.default_value = "0",
        .metavar = "N",
        .range = {0, std::numeric_limits<std::int32_t>::max()}}},
      {&CoreSettings::memory_hog,
       occupied_memory_of,
       "memory-hog",
       "occupy this much memory on every node, so that it cannot cache files",
       {.default_value = "0", .metavar = "SIZE|PERCENT%"}},
      {&CoreSettings::verify, "verify", "check every byte that is read", {.default_value = "true"}},
      {&CoreSettings::seed,
       "seed",
       "seed of the payload and of the order of runs [a new one for each run]",
       {.metavar = "N"}},
      {&CoreSettings::compressible_percent,
       "compressible",
       "share of the payload that a compressor can remove",
       {.default_value = "0", .metavar = "PERCENT", .range = {0, 100}}},
      {[](CoreSettings& core) -> int& { return core.repetitions.warmups; },
       "warmups",
       "number of repetitions at the start that are not counted",
       {.default_value = "1", .metavar = "N", .range = {0, most_repetitions}}},
      {[](CoreSettings& core) -> int& { return core.repetitions.minimum; },
       "repetitions",
       "smallest number of counted repetitions",
       {.default_value = "3", .metavar = "N", .range = {1, most_repetitions}}},
      {[](CoreSettings& core) -> int& { return core.repetitions.maximum; },
       "max-repetitions",
       "largest number of counted repetitions, if --precision is not reached earlier",
       {.default_value = "20", .metavar = "N", .range = {1, most_repetitions}}},
      {[](CoreSettings& core) -> double& { return core.repetitions.half_width; },
       "precision",
       "repeat until the 95 % confidence interval of the median rate is within this "
       "fraction of it",
       {.default_value = "0.05", .metavar = "FRACTION"}},
      {&CoreSettings::time_limit_seconds,
       "time-limit",
       "begin no new repetition after this time, once each configuration has one",
       {.default_value = "600", .metavar = "SECONDS"}},
      {&CoreSettings::deadline_seconds,
       "deadline",
       "end the run if one operation or wait takes longer",
       {.default_value = "600", .metavar = "SECONDS", .range = {1, 1e9}}},
  };
}

FieldSettings<PlanSettings> plan_table() {
  return {
      {&PlanSettings::only, "plan", "print what would be run as JSON, and run nothing"},
      {&PlanSettings::ranks,
       "ranks",
       "number of ranks that --plan assumes, without MPI [those of the job that it is started in]",
       {.metavar = "N", .range = {1}}},
      {&PlanSettings::elsewhere, "elsewhere",
       "with --plan: of a job on another machine, whose places and room are not examined here"},
  };
}

}  // namespace

std::vector<Setting> with_core_settings(std::vector<Setting> own,
                                        const std::vector<Setting>& changes) {
  std::vector<Setting> core = declarations_of(table(), plan_table(), striping_table());
  for (const Setting& change : changes) {
    const auto found = std::find_if(core.begin(), core.end(),
                                    [&](const Setting& one) { return one.name == change.name; });
    const auto replace = [](const auto& by, auto* text) {
      if (!by.empty()) *text = by;
    };
    replace(change.default_value, &found->default_value);
    replace(change.metavar, &found->metavar);
    replace(change.help, &found->help);
    replace(change.letter, &found->letter);
    replace(change.foreign, &found->foreign);
  }
  own.insert(own.end(), core.begin(), core.end());
  return own;
}

Result<CoreSettings> core_settings_of(const Settings& settings) {
  CoreSettings core;
  core.directory = is_directory("files") ? "files" : ".";
  fill(settings, table(), &core);
  auto striping = striping_of(settings);
  if (!striping) return striping.error();
  core.striping = std::move(striping).value();
  auto targets = files_on_targets_of(settings, &core.striping);
  if (!targets) return targets.error();
  core.targets = std::move(targets).value();
  if (core.repetitions.maximum < core.repetitions.minimum) {
    if (settings.given("max-repetitions")) {
      return invalid_argument(fmt::format("--max-repetitions {} is less than --repetitions {}",
                                          core.repetitions.maximum, core.repetitions.minimum));
    }
    core.repetitions.maximum = core.repetitions.minimum;
  }
  return core;
}

PlanSettings plan_settings_of(const Settings& settings) {
  PlanSettings plan;
  fill(settings, plan_table(), &plan);
  return plan;
}

Status refuse_data_settings(const CoreSettings& core, const char* workload) {
  if (core.durability == storage::Durability::none && !core.direct && !core.drop_cache &&
      core.compressible_percent == 0 && core.memory_hog.empty() && core.rank_shift == 0) {
    return {};
  }
  return invalid_argument(
      fmt::format("{}: --sync, --direct, --drop-cache, --compressible, --memory-hog and "
                  "--rank-shift apply to data only: leave them out",
                  workload));
}

Status check_directory(const std::string& directory, const storage::Striping& striping) {
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) {
    return invalid_argument(
        fmt::format("--directory {}: {}; create it first, or give another directory", directory,
                    std::generic_category().message(errno)));
  }
  if (!S_ISDIR(status.st_mode)) {
    return invalid_argument(
        fmt::format("--directory {}: this is a file; give a directory", directory));
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    return invalid_argument(
        fmt::format("--directory {}: {}; give a directory that you can write to", directory,
                    std::generic_category().message(errno)));
  }
  return check_striping(directory, striping);
}

}  // namespace weir::bench
