#include "workloads/stream/ior_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weir::bench::stream {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TableRow row(Direction direction, int iteration, double seconds) {
  TableRow made;
  made.direction = direction;
  made.iteration = iteration;
  made.bytes = 64 << 20;
  made.operations = 64;
  made.open_seconds = 0.25;
  made.transfer_seconds = seconds - 0.5;
  made.close_seconds = 0.25;
  made.total_seconds = seconds;
  return made;
}

class IorTable : public testing::Test {
 protected:
  [[nodiscard]] IorSummary summary(std::vector<TableRow> rows) const {
    IorTest test;
    test.variant.label = "POSIX shared segmented 1m";
    test.layout = {.ranks = 4, .block_bytes = 16 << 20, .transfer_bytes = 1 << 20};
    test.file = "/a/file";
    test.rows = std::move(rows);
    return {.options = options_,
            .core = core_,
            .nodes = 2,
            .ranks_per_node = 2,
            .began_utc = "then",
            .finished_utc = "now",
            .host = "here",
            .command = {"weir-bench", "stream"},
            .tests = {test}};
  }
  [[nodiscard]] IorSummary two_repetitions() const {
    return summary({row(Direction::write, 0, 2.5), row(Direction::read, 0, 1.5),
                    row(Direction::write, 1, 1.5), row(Direction::read, 1, 1.0)});
  }

  Options options_;
  CoreSettings core_;
};

TEST_F(IorTable, BandwidthIsOverTheTotalTimeAndOperationsOverTheTransfers) {
  const TableRow one = row(Direction::write, 0, 2.5);
  EXPECT_DOUBLE_EQ(one.mebibytes_per_second(), 64 / 2.5);
  EXPECT_DOUBLE_EQ(one.operations_per_second(), 64 / 2.0);
  EXPECT_DOUBLE_EQ(one.latency_seconds(4), 2.0 * 4 / 64);
  EXPECT_EQ(TableRow{}.mebibytes_per_second(), 0);
}

TEST_F(IorTable, TextHasIorsColumnsAndLines) {
  const std::string text = ior_text(two_repetitions());
  EXPECT_THAT(text, HasSubstr("access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  "
                              "open(s)    wr/rd(s)   close(s)   total(s)   iter\n"));
  EXPECT_THAT(text, HasSubstr("write     25.60      32.00      0.125000    16384.00   1024.00    "
                              "0.250000   2.000000   0.250000   2.500000   0"));
  EXPECT_THAT(text, HasSubstr("Max Write: 42.67 MiB/sec (44.74 MB/sec)\n"));
  EXPECT_THAT(text, HasSubstr("Max Read:  64.00 MiB/sec"));
  EXPECT_THAT(text, HasSubstr("Summary of all tests:"));
}

TEST_F(IorTable, JsonHasIorsKeys) {
  const json read = json::parse(ior_json(two_repetitions()));
  for (const char* key : {"Version", "Began", "Command line", "Machine", "tests", "summary"}) {
    EXPECT_TRUE(read.contains(key)) << key;
  }
  const json& results = read["tests"][0]["Results"];
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[1]["access"], "read");
  EXPECT_DOUBLE_EQ(results[0]["bwMiB"], 25.6);
  for (const char* key : {"openTime", "wrRdTime", "closeTime", "totalTime", "iops", "latency"}) {
    EXPECT_TRUE(results[0].contains(key)) << key;
  }
  const json& write = read["summary"][0];
  EXPECT_EQ(write["operation"], "write");
  EXPECT_DOUBLE_EQ(write["bwMinMIB"], 25.6);
  EXPECT_NEAR(write["bwMaxMIB"].get<double>(), 64 / 1.5, 1e-9);
  EXPECT_NEAR(write["bwMeanMIB"].get<double>(), (25.6 + 64 / 1.5) / 2, 1e-9);
  EXPECT_NEAR(write["bwStdMIB"].get<double>(), (64 / 1.5 - 25.6) / 2, 1e-9);
  EXPECT_DOUBLE_EQ(write["MeanTime"], 2.0);
  EXPECT_DOUBLE_EQ(write["xsizeMiB"], 64);
  EXPECT_EQ(write["repetitions"], 2);
  EXPECT_EQ(read["tests"][0]["Parameters"]["repetitions"], 2);
}

TEST_F(IorTable, TheStonewallIsToldBesideTheWhole) {
  options_.stonewall_seconds = 1;
  TableRow one = row(Direction::write, 0, 2.5);
  one.wall = {.reached = true,
              .bytes = 32 << 20,
              .seconds = 1,
              .operations_least = 7,
              .operations_most = 9};
  EXPECT_DOUBLE_EQ(one.wall.rate(), 32 << 20);
  EXPECT_THAT(ior_text(summary({one})),
              HasSubstr("at the stonewall 32.00 MiB in 1.000 s, 32.00 MiB/s (operations of a rank: "
                        "7 to 9); in all 64.00 MiB"));
  const json read = json::parse(ior_json(summary({one})));
  EXPECT_DOUBLE_EQ(read["summary"][0]["StoneWallbwMeanMIB"], 32);
  EXPECT_DOUBLE_EQ(read["tests"][0]["Results"][0]["stoneWallMiB"], 32);
}

TEST_F(IorTable, EveryRateSaysWhetherStorageOrMemoryServedIt) {
  IorSummary told = two_repetitions();
  std::vector<TableRow>& rows = told.tests.front().rows;
  EXPECT_THAT(ior_text(told), HasSubstr("# write: it is not known whether storage or memory"));
  for (TableRow& one : rows) {
    one.served_by =
        one.direction == Direction::write ? CacheVerdict::storage : CacheVerdict::memory;
  }
  const std::string text = ior_text(told);
  EXPECT_THAT(text, HasSubstr("(44.74 MB/sec)\n# write: storage served the bytes\n"));
  EXPECT_THAT(text,
              HasSubstr("# read: memory served the bytes, so this is no rate of the storage"));
  const json read = json::parse(ior_json(told));
  EXPECT_EQ(read["tests"][0]["Results"][1]["servedBy"], "memory");
  EXPECT_EQ(read["summary"][0]["servedBy"], "storage");
  EXPECT_THAT(ior_csv(told), HasSubstr(",0,memory\n"));
  rows.back().served_by = CacheVerdict::storage;
  EXPECT_THAT(ior_text(told), HasSubstr("# read: memory served a part of the bytes"));
  rows.back().served_by = CacheVerdict::unknown;
  EXPECT_EQ(json::parse(ior_json(told))["summary"][1]["servedBy"], "unknown");
}

TEST_F(IorTable, CsvHasALinePerPhase) {
  const std::string text = ior_csv(two_repetitions());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_THAT(text, HasSubstr("0,POSIX shared segmented 1m,read,"));
}

}  // namespace
}  // namespace weir::bench::stream
