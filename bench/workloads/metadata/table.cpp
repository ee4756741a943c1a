#include "workloads/metadata/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::bench::metadata {
namespace {

struct MdtestName {
  Action action;
  const char* name;
  bool of_files;
  bool of_directories;
};
// The actions in mdtest's order.
constexpr MdtestName mdtest_names[] = {
    {Action::mkdir, "Directory creation", false, true},
    {Action::directory_stat, "Directory stat", false, true},
    {Action::rmdir, "Directory removal", false, true},
    {Action::create, "File creation", true, false},
    {Action::stat, "File stat", true, false},
    {Action::read, "File read", true, false},
    {Action::unlink, "File removal", true, false},
    {Action::tree_create, "Tree creation", true, true},
    {Action::tree_remove, "Tree removal", true, true},
};

std::string mdtest_line(const char* name, const Series& values) {
  return fmt::format("   {:<18}: {:14.3f} {:14.3f} {:14.3f} {:14.3f}\n", name, values.most(),
                     values.least(), values.mean(), values.deviation());
}

std::string mdtest_part(const MdtestHead& head, const std::vector<ActionHistory>& rows,
                        bool times) {
  const std::size_t iterations = rows.empty() ? 0 : rows.front().barrier_seconds.values().size();
  std::string text =
      fmt::format("SUMMARY {}: (of {} iterations)\n", times ? "time" : "rate", iterations);
  text += "   Operation                      Max            Min           Mean        Std Dev\n";
  text += "   ---------                      ---            ---           ----        -------\n";
  for (const MdtestName& name : mdtest_names) {
    if (!(name.of_files && head.files) && !(name.of_directories && head.directories)) continue;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const ActionHistory& one) {
      return one.measured.action == name.action;
    });
    text += mdtest_line(name.name, row == rows.end() ? Series(Unit::per_second)
                                   : times           ? row->barrier_seconds
                                                     : row->rates.of("barrier"));
  }
  return text;
}

}  // namespace

std::string weir_table(const std::string& label, const std::vector<ActionHistory>& rows) {
  std::string text = fmt::format("{}\n{:<20}{:>12}{:>14}{:>26}{:>16}\n", label, "action",
                                 "operations", "per second", "95 % of the median", "with barrier");
  for (const ActionHistory& row : rows) {
    if (row.rates.empty()) continue;
    const MedianInterval own = row.rates.of("span").interval();
    text += fmt::format(
        "{:<20}{:>12}{:>14.1f}{:>26}{:>16.1f}\n", row.measured.name(), row.operations, own.median,
        fmt::format("{:.1f} to {:.1f}", own.low, own.high), row.rates.of("barrier").median());
  }
  return text;
}

std::string mdtest_table(const MdtestHead& head, const std::vector<ActionHistory>& rows, bool rates,
                         bool times) {
  std::string text = fmt::format("-- started at {} --\n\n", head.began);
  text += fmt::format("weir-bench metadata was launched with {} total task(s) on {} node(s)\n",
                      head.ranks, head.nodes);
  text += fmt::format("Command line used: {}\nPath: {}\n\n{} tasks, {} files/directories\n\n",
                      head.command, head.path, head.ranks, head.items);
  if (rates) text += mdtest_part(head, rows, false) + "\n";
  if (times) text += mdtest_part(head, rows, true) + "\n";
  return text + fmt::format("-- finished at {} --\n", head.finished);
}

std::string metarates_table(const MetaratesHead& head, const std::vector<ActionHistory>& rows) {
  struct Name {
    Action action;
    const char* name;
  };
  constexpr Name names[] = {
      {Action::create, "create/close"}, {Action::utime, "utime"}, {Action::stat, "stat"}};
  std::string text = fmt::format(
      "metarates: {} tasks, {} files each, in {} below {}\n"
      "{:<14}{:>12}{:>14}{:>20}{:>20}\n",
      head.ranks, head.files_per_rank,
      head.unique_directories ? "a directory of each task" : "one directory", head.path, "calls",
      "number", "seconds", "calls per second", "sum over tasks");
  for (const Name& name : names) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const ActionHistory& one) {
      return one.measured.action == name.action;
    });
    if (row == rows.end() || row->rates.empty()) continue;
    text += fmt::format("{:<14}{:>12}{:>14.6f}{:>20.1f}{:>20.1f}\n", name.name, row->operations,
                        row->span_seconds.median(), row->rates.of("span").median(),
                        row->rates.of("sum_of_ranks").median());
  }
  return text;
}

}  // namespace weir::bench::metadata
