#include "workloads/stream/stream_run.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.hpp"
#include "measurement/failure.hpp"
#include "workloads/stream/ior_table.hpp"

namespace weir::bench::stream {
namespace {

constexpr const char* read_and_verified =
    "the timed reads check the stamp of every page and transfer; afterwards every byte is checked "
    "outside the timed part, in the buffers or, where these do not hold all data, by reading "
    "again. Stamps are a function of seed, file, generation and place; the rest of a page is a "
    "function of seed and place in the transfer";
constexpr const char* only_written =
    "no timed phase read data: after writing, every byte was read back outside the timed part";

ResultSubject subject_of(const Configuration& configuration, const Options& options) {
  return {.write = options.write,
          .read = options.read,
          .directories = configuration.files.directories(),
          .sync_each = options.sync_each,
          .stonewalled = options.stonewall_seconds > 0,
          .traced = options.trace_events > 0,
          .outlier_seconds = options.outlier_seconds,
          .how_verified = options.read ? read_and_verified : only_written};
}

TableRow row_of(const CountedPhase& counted) {
  const RecordFigures& figures = counted.figures;
  TableRow row;
  row.direction = counted.direction;
  row.iteration = counted.iteration;
  row.bytes = figures.phase.bytes;
  row.operations = figures.phase.operations;
  row.open_seconds = figures.opening_seconds;
  row.transfer_seconds = figures.phase.span_seconds;
  row.close_seconds = figures.closing_seconds;
  row.total_seconds = figures.total_seconds;
  row.wall = figures.wall;
  row.served_by = counted.served_by;
  return row;
}

}  // namespace

StreamRun::StreamRun(Configuration configuration, const Options& options, Executor& executor,
                     nlohmann::ordered_json run)
    : PhasedRun(configuration.variant.label, configuration.variant.slug,
                subject_of(configuration, options), std::move(run)),
      configuration_(std::move(configuration)),
      executor_(executor) {}

Status StreamRun::repeat(std::int32_t repetition) {
  auto record = executor_.run(configuration_, repetition);
  if (!record) return record.error();
  record_ = std::move(record).value();
  return {};
}

Status print_summary(const Job& job, const JobFolders& folders, const Options& options,
                     const CoreSettings& core, const std::vector<std::string>& command,
                     const std::vector<const StreamRun*>& runs) {
  std::vector<IorTest> tests;
  for (const StreamRun* run : runs) {
    std::vector<TableRow> rows;
    for (const CountedPhase& phase : run->counted_phases()) rows.push_back(row_of(phase));
    tests.push_back({.variant = run->configuration().variant,
                     .layout = run->configuration().layout,
                     .file = run->configuration().files.path(0, 0),
                     .rows = std::move(rows)});
  }
  const IorSummary summary{.options = options,
                           .core = core,
                           .nodes = job.nodes,
                           .ranks_per_node = job.node_size,
                           .began_utc = folders.started_utc,
                           .finished_utc = utc_now(),
                           .host = job.host,
                           .command = command,
                           .tests = std::move(tests)};
  const std::string text = options.summary_format == SummaryFormat::json  ? ior_json(summary)
                           : options.summary_format == SummaryFormat::csv ? ior_csv(summary)
                                                                          : ior_text(summary);
  if (!options.summary_file.empty()) return write_file_atomically(options.summary_file, text);
  fmt::print("{}", text);
  std::fflush(stdout);
  return {};
}

}  // namespace weir::bench::stream
