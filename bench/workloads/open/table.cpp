#include "workloads/open/table.hpp"

#include <fmt/format.h>

namespace weir::bench::opening {

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string table(const OpenRun& run) {
  std::string text =
      fmt::format("{}\n{:<16}{:>10}{:>24}{:>12}{:>12}{:>26}\n", run.label(), "step", "median",
                  "95 % of the median", "operations", "first rank", "on n ranks");
  for (const Step step : all_steps) {
    const MedianInterval interval = run.seconds_of_step(step).interval();
    text += fmt::format("{:<16}{:>10}{:>24}", name_of(step), time_text(interval.median),
                        fmt::format("{} to {}", time_text(interval.low), time_text(interval.high)));
    const auto& points = run.counts().by_ranks[static_cast<std::size_t>(step)];
    if (!points.empty()) {
      text += fmt::format("{:>12}{:>12}{:>26}", points.back().operations, points.back().first_rank,
                          has_slope(points) ? growth(fit_line(points)) : "");
    }
    text += '\n';
  }
  return text;
}

}  // namespace weir::bench::opening
