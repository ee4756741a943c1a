#include "workloads/flagfile/table.hpp"

#include <fmt/format.h>

namespace weir::bench::flagfile {

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

}  // namespace weir::bench::flagfile
