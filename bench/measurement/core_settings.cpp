#include "measurement/core_settings.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "measurement/striping_settings.hpp"

namespace weir::bench {
namespace {

using Kind = SettingKind;

Result<std::int64_t> bounded(const Settings& settings, const char* name, std::int64_t least,
                             std::int64_t most) {
  const std::int64_t value = settings.integer(name);
  if (value >= least && value <= most) return value;
  return invalid_argument(
      fmt::format("--{} must be between {} and {}; given: {}", name, least, most, value));
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Status read_memory_hog(const std::string& text, CoreSettings* core) {
  if (!text.empty() && text.back() == '%') {
    int percent = 0;
    const char* end = text.data() + text.size() - 1;
    const auto [stop, error] = std::from_chars(text.data(), end, percent);
    if (error == std::errc{} && stop == end && percent >= 0 && percent <= 95) {
      core->memory_hog_fraction = percent / 100.0;
      return {};
    }
  } else if (const auto bytes = parse_bytes(text)) {
    core->memory_hog_bytes = *bytes;
    return {};
  }
  return invalid_argument(fmt::format(
      "--memory-hog: '{}' is neither a size such as 8g nor a share of the node's free memory from "
      "0% to 95%",
      text));
}

}  // namespace

std::vector<Setting> core_declarations() {
  std::vector<Setting> all = {
      {.name = "directory",
       .metavar = "DIR",
       .help = "directory of the test files [files/ if it exists in the current directory, "
               "otherwise .]"},
      {.name = "output",
       .metavar = "FOLDER",
       .help = "new folder for the results [weir-results/TIME-WORKLOAD]"},
      {.name = "expectation",
       .metavar = "FILE",
       .help = "file with expectations, as `weir predict` writes it"},
      {.name = "progress",
       .kind = Kind::choice,
       .default_value = "none",
       .metavar = "FORM",
       .help = "report progress on standard error",
       .choices = {"none", "json"}},
      {.name = "sync",
       .kind = Kind::choice,
       .default_value = "fsync",
       .metavar = "CALL",
       .help = "when writes are made durable; the time counts as part of the write",
       .choices = {"fsync", "fdatasync", "none"}},
      {.name = "direct",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "bypass the page cache with O_DIRECT (POSIX only)"},
      {.name = "drop-cache",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "drop the files' cached pages before reading"},
      {.name = "rank-shift",
       .kind = Kind::integer,
       .default_value = "0",
       .metavar = "N",
       .help = "in each later function use the data of the rank that is N ranks further"},
      {.name = "memory-hog",
       .default_value = "0",
       .metavar = "SIZE|PERCENT%",
       .help = "occupy this much memory on every node, so that it cannot cache files"},
      {.name = "verify",
       .kind = Kind::flag,
       .default_value = "true",
       .help = "check every byte that is read"},
      {.name = "seed",
       .kind = Kind::integer,
       .metavar = "N",
       .help = "seed of the payload and of the order of runs [a new one for each run]"},
      {.name = "compressible",
       .kind = Kind::integer,
       .default_value = "0",
       .metavar = "PERCENT",
       .help = "share of the payload that a compressor can remove"},
      {.name = "warmups",
       .kind = Kind::integer,
       .default_value = "1",
       .metavar = "N",
       .help = "number of repetitions at the start that are not counted"},
      {.name = "repetitions",
       .kind = Kind::integer,
       .default_value = "3",
       .metavar = "N",
       .help = "smallest number of counted repetitions"},
      {.name = "max-repetitions",
       .kind = Kind::integer,
       .default_value = "20",
       .metavar = "N",
       .help = "largest number of counted repetitions, if --precision is not reached earlier"},
      {.name = "precision",
       .kind = Kind::real,
       .default_value = "0.05",
       .metavar = "FRACTION",
       .help = "repeat until the 95 % confidence interval of the median rate is within this "
               "fraction of it"},
      {.name = "time-limit",
       .kind = Kind::real,
       .default_value = "600",
       .metavar = "SECONDS",
       .help = "begin no new repetition after this time, once each configuration has one"},
      {.name = "deadline",
       .kind = Kind::real,
       .default_value = "600",
       .metavar = "SECONDS",
       .help = "end the run if one operation or wait takes longer"},
      {.name = "plan",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "print what would be run as JSON, and run nothing"},
      {.name = "ranks",
       .kind = Kind::integer,
       .metavar = "N",
       .help = "number of ranks that --plan assumes"},
  };
  for (Setting& setting : striping_declarations()) all.push_back(std::move(setting));
  return all;
}

Result<CoreSettings> core_settings_of(const Settings& settings) {
  CoreSettings core;
  core.directory = settings.has("directory") ? settings.text("directory")
                   : is_directory("files")   ? "files"
                                             : ".";
  if (settings.has("output")) core.output = settings.text("output");
  if (settings.has("expectation")) core.expectation = settings.text("expectation");
  core.progress_json = settings.text("progress") == "json";
  auto striping = striping_of(settings);
  if (!striping) return striping.error();
  core.striping = std::move(striping).value();
  const std::string& sync = settings.text("sync");
  core.durability = sync == "fsync"       ? storage::Durability::full
                    : sync == "fdatasync" ? storage::Durability::data
                                          : storage::Durability::none;
  core.direct = settings.flag("direct");
  core.drop_cache = settings.flag("drop-cache");
  core.verify = settings.flag("verify");
  if (Status status = read_memory_hog(settings.text("memory-hog"), &core); !status) {
    return status.error();
  }
  core.seed_given = settings.has("seed");
  if (core.seed_given) core.seed = static_cast<std::uint64_t>(settings.integer("seed"));

  constexpr std::int64_t most = 1'000'000;
  struct Bound {
    const char* name = nullptr;
    std::int64_t least = 0;
    std::int64_t most = 0;
    std::int64_t value = 0;
  } bounds[] = {{"rank-shift", 0, std::numeric_limits<std::int32_t>::max()},
                {"compressible", 0, 100},
                {"warmups", 0, most},
                {"repetitions", 1, most},
                {"max-repetitions", 1, most}};
  for (Bound& bound : bounds) {
    const Result<std::int64_t> value = bounded(settings, bound.name, bound.least, bound.most);
    if (!value) return value.error();
    bound.value = value.value();
  }
  core.rank_shift = bounds[0].value;
  core.compressible_percent = static_cast<int>(bounds[1].value);
  core.repetitions.warmups = static_cast<int>(bounds[2].value);
  core.repetitions.minimum = static_cast<int>(bounds[3].value);
  core.repetitions.maximum = static_cast<int>(bounds[4].value);
  core.repetitions.half_width = settings.real("precision");
  if (core.repetitions.maximum < core.repetitions.minimum) {
    const bool given =
        settings.values().find("max-repetitions")->second.origin != SettingOrigin::default_value;
    if (given) {
      return invalid_argument(fmt::format("--max-repetitions {} is less than --repetitions {}",
                                          core.repetitions.maximum, core.repetitions.minimum));
    }
    core.repetitions.maximum = core.repetitions.minimum;
  }
  core.time_limit_seconds = settings.real("time-limit");
  core.deadline_seconds = settings.real("deadline");
  if (core.deadline_seconds < 1 || core.deadline_seconds > 1e9) {
    return invalid_argument(fmt::format("--deadline must be between 1 and 1e9 seconds; given: {}",
                                        core.deadline_seconds));
  }
  return core;
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
