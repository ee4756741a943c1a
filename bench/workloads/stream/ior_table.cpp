#include "workloads/stream/ior_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "measurement/build_info.hpp"
#include "measurement/result.hpp"

namespace weir::bench::stream {
namespace {

using nlohmann::ordered_json;

constexpr double mebibyte = 1048576;
constexpr double megabyte = 1e6;
constexpr double kibibyte = 1024;

// Statistics over the repetitions as IOR computes them: the standard deviation is that of the
// population.
struct Moments {
  double most = 0;
  double least = 0;
  double mean = 0;
  double deviation = 0;
};

Moments moments(std::span<const double> values) {
  Moments result;
  if (values.empty()) return result;
  result.most = *std::max_element(values.begin(), values.end());
  result.least = *std::min_element(values.begin(), values.end());
  for (const double value : values) result.mean += value;
  result.mean /= static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / static_cast<double>(values.size()));
  return result;
}

// One direction of one configuration over its repetitions.
struct Summarised {
  Direction direction = Direction::write;
  int repetitions = 0;
  Moments bandwidth;   // MiB/s
  Moments operations;  // per second
  double mean_seconds = 0;
  double wall_seconds = 0;    // mean; 0 without a wall
  double wall_bandwidth = 0;  // MiB/s, mean
  double mebibytes = 0;       // of the first repetition
  // Mixed if the repetitions differ, unknown if one of them is.
  CacheVerdict served_by = CacheVerdict::unknown;
};

CacheVerdict together(CacheVerdict one, CacheVerdict other) {
  if (one == other) return one;
  const bool unknown = one == CacheVerdict::unknown || other == CacheVerdict::unknown;
  return unknown ? CacheVerdict::unknown : CacheVerdict::mixed;
}

std::vector<Summarised> summarise(const IorTest& test) {
  std::vector<Summarised> all;
  for (const auto direction : {Direction::write, Direction::read}) {
    std::vector<double> bandwidth;
    std::vector<double> operations;
    Summarised one;
    one.direction = direction;
    for (const TableRow& row : test.rows) {
      if (row.direction != direction) continue;
      if (bandwidth.empty()) one.mebibytes = static_cast<double>(row.bytes) / mebibyte;
      one.served_by = bandwidth.empty() ? row.served_by : together(one.served_by, row.served_by);
      bandwidth.push_back(row.mebibytes_per_second());
      operations.push_back(
          row.total_seconds > 0 ? static_cast<double>(row.operations) / row.total_seconds : 0);
      one.mean_seconds += row.total_seconds;
      one.wall_seconds += row.wall.seconds;
      one.wall_bandwidth += row.wall.rate() / mebibyte;
    }
    if (bandwidth.empty()) continue;
    const auto count = static_cast<double>(bandwidth.size());
    one.repetitions = static_cast<int>(bandwidth.size());
    one.bandwidth = moments(bandwidth);
    one.operations = moments(operations);
    one.mean_seconds /= count;
    one.wall_seconds /= count;
    one.wall_bandwidth /= count;
    all.push_back(one);
  }
  return all;
}

std::string human(std::int64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= kibibyte && unit + 1 < std::size(units)) {
    value /= kibibyte;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.2f} {}", value, units[unit]);
}

std::string api_of(const Variant& variant) {
  // Scripts expect IOR's name of the interface that Weir calls PNETCDF.
  return variant.api->name == "pnetcdf" ? "NCMPI" : std::string(variant.api->title);
}

bool reorders(const Options& options, Reorder how) { return options.reorder == how; }

std::string row_text(const TableRow& row, const IorTest& test) {
  return fmt::format(
      "{:<9} {:<10.2f} {:<10.2f} {:<11.6f} {:<10.2f} {:<10.2f} {:<10.6f} {:<10.6f} {:<10.6f} "
      "{:<10.6f} {:<4}\n",
      bench::name_of(row.direction), row.mebibytes_per_second(), row.operations_per_second(),
      row.latency_seconds(test.layout.ranks),
      static_cast<double>(test.layout.block_bytes) / kibibyte,
      static_cast<double>(test.layout.transfer_bytes) / kibibyte, row.open_seconds,
      row.transfer_seconds, row.close_seconds, row.total_seconds, row.iteration);
}

std::string options_text(const IorSummary& summary, const IorTest& test) {
  const Layout& layout = test.layout;
  std::string text = "\nOptions:\n";
  const auto line = [&text](const char* name, const std::string& value) {
    text += fmt::format("{:<20}: {}\n", name, value);
  };
  line("api", api_of(test.variant));
  line("test filename", test.file);
  line("access", layout.file_per_rank ? "file-per-process" : "single-shared-file");
  line("type", test.variant.collective ? "collective" : "independent");
  line("segments", fmt::format("{}", layout.segments));
  line("pattern", std::string(name_of(layout.pattern)));
  line("ordering inter file", std::string(name_of(summary.options.reorder)));
  line("nodes", fmt::format("{}", summary.nodes));
  line("tasks", fmt::format("{}", layout.ranks));
  line("clients per node", fmt::format("{}", summary.ranks_per_node));
  line("xfersize", human(layout.transfer_bytes));
  line("blocksize", human(layout.block_bytes));
  line("aggregate filesize", human(layout.total_bytes()));
  if (test.variant.api->can.queue) {
    line("queue depth", fmt::format("{}", test.variant.queue_depth));
  }
  if (summary.options.stonewall_seconds > 0) {
    line("stonewallingTime", fmt::format("{}", summary.options.stonewall_seconds));
    line("stoneWallingWearOut", summary.options.wear_out ? "1" : "0");
  }
  return text;
}

std::string walls_text(const IorTest& test) {
  std::string text;
  for (const TableRow& row : test.rows) {
    if (row.wall.seconds <= 0 || row.wall.operations_most == 0) continue;
    text += fmt::format(
        "# {} {}: at the stonewall {:.2f} MiB in {:.3f} s, {:.2f} MiB/s (operations of a rank: {} "
        "to {}); in all {:.2f} MiB\n",
        bench::name_of(row.direction), row.iteration,
        static_cast<double>(row.wall.bytes) / mebibyte, row.wall.seconds,
        row.wall.rate() / mebibyte, row.wall.operations_least, row.wall.operations_most,
        static_cast<double>(row.bytes) / mebibyte);
  }
  return text;
}

// Returns what follows a rate: what it is a rate of. IOR has no such line, so it is a comment.
std::string served_text(const Summarised& one) {
  const char* direction = bench::name_of(one.direction);
  switch (one.served_by) {
    case CacheVerdict::storage:
      return fmt::format("# {}: storage served the bytes\n", direction);
    case CacheVerdict::memory:
      return fmt::format("# {}: memory served the bytes, so this is no rate of the storage\n",
                         direction);
    case CacheVerdict::mixed:
      return fmt::format("# {}: memory served a part of the bytes, storage the rest\n", direction);
    case CacheVerdict::unknown:
      break;
  }
  return fmt::format("# {}: it is not known whether storage or memory served the bytes\n",
                     direction);
}

ordered_json parameters_of(const IorSummary& summary, const IorTest& test, std::size_t id) {
  const Options& options = summary.options;
  const auto flag = [](bool on) { return on ? 1 : 0; };
  return {{"testID", id},
          {"refnum", options.reference_number},
          {"api", api_of(test.variant)},
          {"testFileName", test.file},
          {"deadlineForStonewall", options.stonewall_seconds},
          {"stoneWallingWearOut", flag(options.wear_out)},
          {"outlierThreshold", options.outlier_seconds},
          {"nodes", summary.nodes},
          {"tasksPerNode", summary.ranks_per_node},
          {"repetitions", test.rows.size() / std::max<std::size_t>(1, summarise(test).size())},
          {"multiFile", flag(options.multi_file)},
          {"interTestDelay", options.delay_seconds},
          {"fsync", flag(summary.core.durability != storage::Durability::none)},
          {"fsyncperwrite", flag(options.sync_each)},
          {"useExistingTestFile", flag(options.use_existing)},
          {"uniqueDir", flag(options.unique_directories)},
          {"readFile", flag(options.read)},
          {"writeFile", flag(options.write)},
          {"filePerProc", flag(test.layout.file_per_rank)},
          {"reorderTasks", flag(reorders(options, Reorder::constant))},
          {"reorderTasksRandom", flag(reorders(options, Reorder::random))},
          {"reorderTasksRandomSeed", options.reorder_seed},
          {"randomOffset", flag(test.layout.pattern == Pattern::random)},
          {"checkWrite", flag(options.check_write)},
          {"checkRead", flag(summary.core.verify && options.read)},
          {"keepFile", flag(options.keep)},
          {"keepFileWithError", flag(options.keep_with_errors)},
          {"useO_DIRECT", flag(summary.core.direct)},
          {"collective", flag(test.variant.collective)},
          {"segmentCount", test.layout.segments},
          {"transferSize", test.layout.transfer_bytes},
          {"blockSize", test.layout.block_bytes}};
}

ordered_json options_of_test(const IorSummary& summary, const IorTest& test) {
  const Layout& layout = test.layout;
  return {{"api", api_of(test.variant)},
          {"test filename", test.file},
          {"access", layout.file_per_rank ? "file-per-process" : "single-shared-file"},
          {"type", test.variant.collective ? "collective" : "independent"},
          {"segments", layout.segments},
          {"ordering in a file", layout.pattern == Pattern::random ? "random" : "sequential"},
          {"pattern", name_of(layout.pattern)},
          {"ordering inter file", name_of(summary.options.reorder)},
          {"nodes", summary.nodes},
          {"tasks", layout.ranks},
          {"clients per node", summary.ranks_per_node},
          {"xfersize", human(layout.transfer_bytes)},
          {"blocksize", human(layout.block_bytes)},
          {"aggregate filesize", human(layout.total_bytes())}};
}

ordered_json result_of(const TableRow& row, const IorTest& test) {
  ordered_json result = {{"access", bench::name_of(row.direction)},
                         {"bwMiB", row.mebibytes_per_second()},
                         {"blockKiB", static_cast<double>(test.layout.block_bytes) / kibibyte},
                         {"xferKiB", static_cast<double>(test.layout.transfer_bytes) / kibibyte},
                         {"iops", row.operations_per_second()},
                         {"latency", row.latency_seconds(test.layout.ranks)},
                         {"openTime", row.open_seconds},
                         {"wrRdTime", row.transfer_seconds},
                         {"closeTime", row.close_seconds},
                         {"totalTime", row.total_seconds},
                         {"iter", row.iteration},
                         {"servedBy", name_of(row.served_by)}};
  if (row.wall.operations_most > 0) {
    result["stoneWallTime"] = row.wall.seconds;
    result["stoneWallMiB"] = static_cast<double>(row.wall.bytes) / mebibyte;
    result["stoneWallbwMiB"] = row.wall.rate() / mebibyte;
  }
  return result;
}

ordered_json summary_of(const IorSummary& summary, const IorTest& test, const Summarised& one,
                        std::size_t id) {
  const Options& options = summary.options;
  ordered_json entry = {{"operation", bench::name_of(one.direction)},
                        {"API", api_of(test.variant)},
                        {"TestID", id},
                        {"ReferenceNumber", options.reference_number},
                        {"segmentCount", test.layout.segments},
                        {"blockSize", test.layout.block_bytes},
                        {"transferSize", test.layout.transfer_bytes},
                        {"numTasks", test.layout.ranks},
                        {"tasksPerNode", summary.ranks_per_node},
                        {"repetitions", one.repetitions},
                        {"filePerProc", test.layout.file_per_rank ? 1 : 0},
                        {"reorderTasks", reorders(options, Reorder::constant) ? 1 : 0},
                        {"taskPerNodeOffset", options.task_offset},
                        {"reorderTasksRandom", reorders(options, Reorder::random) ? 1 : 0},
                        {"reorderTasksRandomSeed", options.reorder_seed},
                        {"bwMaxMIB", one.bandwidth.most},
                        {"bwMinMIB", one.bandwidth.least},
                        {"bwMeanMIB", one.bandwidth.mean},
                        {"bwStdMIB", one.bandwidth.deviation},
                        {"OPsMax", one.operations.most},
                        {"OPsMin", one.operations.least},
                        {"OPsMean", one.operations.mean},
                        {"OPsSD", one.operations.deviation},
                        {"MeanTime", one.mean_seconds},
                        {"servedBy", name_of(one.served_by)}};
  if (options.stonewall_seconds > 0) {
    entry["StoneWallTime"] = one.wall_seconds;
    entry["StoneWallbwMeanMIB"] = one.wall_bandwidth;
  }
  entry["xsizeMiB"] = one.mebibytes;
  return entry;
}

// Returns the columns of IOR's "Summary of all tests", in its order.
std::vector<std::string> summary_columns(const IorSummary& summary, const IorTest& test,
                                         const Summarised& one, std::size_t id) {
  const Options& options = summary.options;
  const bool walled = options.stonewall_seconds > 0;
  const auto two = [](double value) { return fmt::format("{:.2f}", value); };
  return {bench::name_of(one.direction),
          two(one.bandwidth.most),
          two(one.bandwidth.least),
          two(one.bandwidth.mean),
          two(one.bandwidth.deviation),
          two(one.operations.most),
          two(one.operations.least),
          two(one.operations.mean),
          two(one.operations.deviation),
          fmt::format("{:.5f}", one.mean_seconds),
          walled ? two(one.wall_seconds) : "NA",
          walled ? two(one.wall_bandwidth) : "NA",
          fmt::format("{}", id),
          fmt::format("{}", test.layout.ranks),
          fmt::format("{}", summary.ranks_per_node),
          fmt::format("{}", one.repetitions),
          test.layout.file_per_rank ? "1" : "0",
          reorders(options, Reorder::constant) ? "1" : "0",
          fmt::format("{}", options.task_offset),
          reorders(options, Reorder::random) ? "1" : "0",
          fmt::format("{}", options.reorder_seed),
          fmt::format("{}", test.layout.segments),
          fmt::format("{}", test.layout.block_bytes),
          fmt::format("{}", test.layout.transfer_bytes),
          fmt::format("{:.1f}", one.mebibytes),
          api_of(test.variant),
          fmt::format("{}", options.reference_number)};
}

constexpr const char* summary_head[] = {
    "Operation", "Max(MiB)",  "Min(MiB)", "Mean(MiB)", "StdDev",       "Max(OPs)",
    "Min(OPs)",  "Mean(OPs)", "StdDev",   "Mean(s)",   "Stonewall(s)", "Stonewall(MiB)",
    "Test#",     "#Tasks",    "tPN",      "reps",      "fPP",          "reord",
    "reordoff",  "reordrand", "seed",     "segcnt",    "blksiz",       "xsize",
    "aggs(MiB)", "API",       "RefNum"};

}  // namespace

double TableRow::mebibytes_per_second() const {
  return total_seconds > 0 ? static_cast<double>(bytes) / mebibyte / total_seconds : 0;
}

double TableRow::operations_per_second() const {
  return transfer_seconds > 0 ? static_cast<double>(operations) / transfer_seconds : 0;
}

double TableRow::latency_seconds(std::int64_t ranks) const {
  return operations > 0
             ? transfer_seconds * static_cast<double>(ranks) / static_cast<double>(operations)
             : 0;
}

std::string ior_text(const IorSummary& summary) {
  std::string text = fmt::format(
      "weir-bench stream {}: output as IOR's\nBegan               : {}\nCommand line        : {}\n",
      build_info::version, summary.began_utc, fmt::join(summary.command, " "));
  for (const IorTest& test : summary.tests) {
    if (summary.options.verbose) text += options_text(summary, test);
    text += fmt::format("\nResults: {}\n\n", test.variant.label);
    text +=
        "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   "
        "close(s)   total(s)   iter\n"
        "------    ---------  ----       ----------  ---------- ---------  --------   --------   "
        "--------   --------   ----\n";
    for (const TableRow& row : test.rows) text += row_text(row, test);
    text += walls_text(test);
    for (const Summarised& one : summarise(test)) {
      const bool reading = one.direction == Direction::read;
      text += fmt::format("{} {:.2f} MiB/sec ({:.2f} MB/sec)\n",
                          reading ? "Max Read: " : "Max Write:", one.bandwidth.most,
                          one.bandwidth.most * mebibyte / megabyte);
      text += served_text(one);
    }
  }
  text += "\nSummary of all tests:\n";
  std::vector<std::vector<std::string>> lines;
  lines.emplace_back(std::begin(summary_head), std::end(summary_head));
  for (std::size_t id = 0; id < summary.tests.size(); ++id) {
    for (const Summarised& one : summarise(summary.tests[id])) {
      lines.push_back(summary_columns(summary, summary.tests[id], one, id));
    }
  }
  for (const auto& line : lines) {
    std::string joined;
    for (std::size_t column = 0; column < line.size(); ++column) {
      std::size_t width = 0;
      for (const auto& other : lines) width = std::max(width, other[column].size());
      joined += column == 0 ? fmt::format("{:<{}}", line[column], width)
                            : fmt::format(" {:>{}}", line[column], width);
    }
    text += joined + "\n";
  }
  text += fmt::format("Finished            : {}\n", summary.finished_utc);
  return text;
}

std::string ior_csv(const IorSummary& summary) {
  std::string text =
      "test,label,access,bw(MiB/s),IOPS,Latency(s),block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),"
      "total(s),numTasks,iter,servedBy\n";
  for (std::size_t id = 0; id < summary.tests.size(); ++id) {
    const IorTest& test = summary.tests[id];
    for (const TableRow& row : test.rows) {
      text += fmt::format(
          "{},{},{},{:.4f},{:.4f},{:.9f},{:.2f},{:.2f},{:.9f},{:.9f},{:.9f},{:.9f},"
          "{},{},{}\n",
          id, test.variant.label, bench::name_of(row.direction), row.mebibytes_per_second(),
          row.operations_per_second(), row.latency_seconds(test.layout.ranks),
          static_cast<double>(test.layout.block_bytes) / kibibyte,
          static_cast<double>(test.layout.transfer_bytes) / kibibyte, row.open_seconds,
          row.transfer_seconds, row.close_seconds, row.total_seconds, test.layout.ranks,
          row.iteration, name_of(row.served_by));
    }
  }
  return text;
}

std::string ior_json(const IorSummary& summary) {
  ordered_json json;
  json["Version"] = fmt::format("weir-bench {}", build_info::version);
  json["Began"] = summary.began_utc;
  json["Command line"] = fmt::format("{}", fmt::join(summary.command, " "));
  json["Machine"] = fmt::format("Linux {}", summary.host);
  json["tests"] = ordered_json::array();
  json["summary"] = ordered_json::array();
  for (std::size_t id = 0; id < summary.tests.size(); ++id) {
    const IorTest& test = summary.tests[id];
    ordered_json results = ordered_json::array();
    for (const TableRow& row : test.rows) results.push_back(result_of(row, test));
    json["tests"].push_back({{"TestID", id},
                             {"StartTime", summary.began_utc},
                             {"Parameters", parameters_of(summary, test, id)},
                             {"Options", options_of_test(summary, test)},
                             {"Results", std::move(results)}});
    for (const Summarised& one : summarise(test)) {
      json["summary"].push_back(summary_of(summary, test, one, id));
    }
  }
  json["Finished"] = summary.finished_utc;
  return json.dump(2) + "\n";
}

}  // namespace weir::bench::stream
