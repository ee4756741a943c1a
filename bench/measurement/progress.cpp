#include "measurement/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace weir::bench {
namespace {

void print_line(const RepetitionPolicy& policy, std::span<const RunProgress> runs,
                const NextRepetition& next, bool ended) {
  int done = 0;
  int planned = 0;
  int most = 0;
  for (const RunProgress& run : runs) {
    const int n = run.repetitions;
    done += n;
    planned += run.finished ? n : std::max(policy.warmups + policy.minimum, n + 1);
    most += run.finished ? n : std::max(policy.warmups + policy.maximum, n + 1);
  }
  const bool warmup = next.round < policy.warmups;
  const int number = warmup ? next.round + 1 : next.round + 1 - policy.warmups;
  const nlohmann::ordered_json line = {
      {"progress",
       {{"label", next.label},
        {"repetition", next.round},
        {"warmup", warmup},
        {"repetitions_done", done},
        {"repetitions_planned", planned},
        {"repetitions_most", most},
        {"ended", ended},
        {"text", ended ? "all repetitions have ended"
                       : fmt::format("{}: {} {}", next.label, warmup ? "warm-up" : "repetition",
                                     number)}}}};
  fmt::print(stderr, "{}\n", line.dump());
  std::fflush(stderr);
}

}  // namespace

void report_progress(const RepetitionPolicy& policy, std::span<const RunProgress> runs,
                     const NextRepetition& next) {
  print_line(policy, runs, next, false);
}

void report_end(const RepetitionPolicy& policy, std::span<const RunProgress> runs,
                const std::string& label) {
  print_line(policy, runs, {.label = label, .round = policy.warmups}, true);
}

}  // namespace weir::bench
