// The summary that is printed at the end: a table, JSON or CSV with the columns and keys of IOR 4,
// so that scripts that read IOR's output can read it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/direction.hpp"
#include "measurement/cache_verdict.hpp"
#include "measurement/core_settings.hpp"
#include "measurement/record_figures.hpp"
#include "workloads/stream/parameters.hpp"

namespace weir::bench::stream {

// One phase of one counted repetition, over all ranks. Its bandwidth is defined as in IOR: bytes
// over the total time, which includes opening and closing.
struct TableRow {
  Direction direction = Direction::write;
  int iteration = 0;
  std::int64_t bytes = 0;
  std::int64_t operations = 0;
  double open_seconds = 0;
  double transfer_seconds = 0;
  double close_seconds = 0;
  double total_seconds = 0;
  WallFigures wall;
  CacheVerdict served_by = CacheVerdict::unknown;

  [[nodiscard]] double mebibytes_per_second() const;
  [[nodiscard]] double operations_per_second() const;  // over the time of the transfers alone
  // Returns the mean latency of one operation: the transfers' time divided by the operations of a
  // rank.
  [[nodiscard]] double latency_seconds(std::int64_t ranks) const;
};

struct IorTest {
  Variant variant;
  Layout layout;
  std::string file;
  std::vector<TableRow> rows;
};

struct IorSummary {
  const Options& options;
  const CoreSettings& core;
  int nodes = 1;
  int ranks_per_node = 1;
  std::string began_utc;
  std::string finished_utc;
  std::string host;
  std::vector<std::string> command;
  std::vector<IorTest> tests;
};

[[nodiscard]] std::string ior_text(const IorSummary& summary);
[[nodiscard]] std::string ior_json(const IorSummary& summary);
[[nodiscard]] std::string ior_csv(const IorSummary& summary);

}  // namespace weir::bench::stream
