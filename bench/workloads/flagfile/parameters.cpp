#include "workloads/flagfile/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weir::bench::flagfile {
namespace {

constexpr std::int64_t most_files = 1'000'000;
constexpr double longest_seconds = 86'400;

Error refuse(const std::string& rule) { return invalid_argument("flagfile: " + rule); }

}  // namespace

Result<Options> options_of(const Settings& settings, std::int64_t ranks) {
  if (ranks < 2)
    return refuse(
        "this workload needs at least 2 ranks: one that polls, and one that has its own files");
  Options options;
  options.others = settings.has("others") ? settings.integer("others") : (ranks + 1) / 2;
  if (options.others < 1 || options.others >= ranks) {
    return refuse(fmt::format("--others must be between 1 and {} on {} ranks; given: {}", ranks - 1,
                              ranks, options.others));
  }
  options.files = settings.integer("files");
  if (options.files < 1 || options.files > most_files) {
    return refuse(
        fmt::format("--files must be between 1 and {}; given: {}", most_files, options.files));
  }
  options.by_reading = settings.text("poll") == "read";
  options.interval_seconds = settings.real("interval");
  options.seconds = settings.real("seconds");
  if (options.seconds <= 0 || options.seconds > longest_seconds ||
      options.interval_seconds > longest_seconds) {
    return refuse("--seconds must be above 0, and --seconds and --interval at most a day");
  }
  return options;
}

Result<std::vector<Variant>> variants_of(const Settings& settings, const Options& options,
                                         std::int64_t ranks) {
  const std::int64_t most = ranks - options.others;
  std::vector<std::int64_t> numbers{0};
  if (settings.has("pollers")) {
    numbers = settings.sizes("pollers");
  } else {
    for (std::int64_t some = 1; some < most; some *= 2) numbers.push_back(some);
    numbers.push_back(most);
  }
  std::vector<Variant> variants;
  std::set<std::int64_t> taken;
  for (const std::int64_t pollers : numbers) {
    if (pollers > most) {
      return refuse(
          fmt::format("--pollers {}: of {} ranks, {} have their own files, so {} can poll", pollers,
                      ranks, options.others, most));
    }
    if (!taken.insert(pollers).second) {
      return refuse(fmt::format("--pollers: {} is given twice", pollers));
    }
    const char* call = options.by_reading ? "read" : "stat";
    variants.push_back(
        {.pollers = pollers,
         .label = fmt::format("{} poller{} by {}", pollers, pollers == 1 ? "" : "s", call),
         .slug = fmt::format("pollers-{}", pollers)});
  }
  return variants;
}

Status check_core(const CoreSettings& core, const Options& options) {
  if (std::max(options.seconds, options.interval_seconds) >= core.deadline_seconds) {
    return refuse("--seconds and --interval must be shorter than --deadline");
  }
  if (core.durability == storage::Durability::none && !core.direct && !core.drop_cache &&
      core.compressible_percent == 0 && core.memory_hog_bytes == 0 &&
      core.memory_hog_fraction == 0 && core.rank_shift == 0) {
    return {};
  }
  return refuse(
      "--sync, --direct, --drop-cache, --compressible, --memory-hog and --rank-shift apply to data "
      "only: leave them out");
}

}  // namespace weir::bench::flagfile
