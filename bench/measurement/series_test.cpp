#include "measurement/series.hpp"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weir::bench {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> keys_of(const ordered_json& record) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : record.items()) keys.push_back(key);
  return keys;
}

TEST(Series, HasTheStatisticsOfItsValues) {
  const Series series(Unit::seconds, {1, 5, 3});
  EXPECT_EQ(series.median(), 3);
  EXPECT_EQ(series.least(), 1);
  EXPECT_EQ(series.most(), 5);
  EXPECT_EQ(series.mean(), 3);
  EXPECT_NEAR(series.deviation(), 1.632993, 1e-6);
}

TEST(Series, IsZeroWithoutValues) {
  const Series series(Unit::seconds);
  EXPECT_EQ(series.median(), 0);
  EXPECT_EQ(series.least(), 0);
  EXPECT_EQ(series.most(), 0);
  EXPECT_EQ(series.mean(), 0);
  EXPECT_EQ(series.deviation(), 0);
  EXPECT_FALSE(series.converged({}));
}

TEST(Series, NamesItsUnitInResults) {
  const ordered_json record = Series(Unit::per_second, {2, 2, 2}).to_json({});
  EXPECT_EQ(keys_of(record),
            (std::vector<std::string>{"values_per_second", "median_per_second", "low_per_second",
                                      "high_per_second", "confidence", "converged"}));
  EXPECT_EQ(record["values_per_second"], (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(record["median_per_second"], 2);
}

TEST(Rates, HaveOneHeadline) {
  Rates rates = Rates::of_bytes("foreground");
  rates.add(std::array{1.0, 2.0, 3.0, 4.0});
  EXPECT_EQ(rates.headline().median(), 4);
  EXPECT_EQ(rates.of("slowest_rank").median(), 2);
  const ordered_json records = rates.to_json({{"direction", "write"}}, {});
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(keys_of(records[0]),
            (std::vector<std::string>{"direction", "metric", "headline", "values_bytes_per_second",
                                      "median_bytes_per_second", "low_bytes_per_second",
                                      "high_bytes_per_second", "confidence", "converged"}));
  for (const ordered_json& record : records) {
    EXPECT_EQ(record["headline"], record["metric"] == "foreground");
  }
}

TEST(Rates, OfOperationsAreBySpan) {
  Rates rates = Rates::of_operations();
  EXPECT_TRUE(rates.empty());
  rates.add(std::array{1.0, 2.0, 3.0});
  EXPECT_EQ(rates.headline().median(), 2);
  EXPECT_EQ(rates.to_json(ordered_json::object(), {})[0]["metric"], "barrier");
}

}  // namespace
}  // namespace weir::bench
