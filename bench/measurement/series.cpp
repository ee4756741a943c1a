#include "measurement/series.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace weir::bench {

using nlohmann::ordered_json;

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::bytes_per_second:
      return "bytes_per_second";
    case Unit::per_second:
      return "per_second";
    case Unit::seconds:
      break;
  }
  return "seconds";
}

double Series::least() const { return empty() ? 0 : *std::ranges::min_element(values_); }

double Series::most() const { return empty() ? 0 : *std::ranges::max_element(values_); }

double Series::mean() const {
  if (empty()) return 0;
  return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
}

double Series::deviation() const {
  if (empty()) return 0;
  const double middle = mean();
  double squares = 0;
  for (const double value : values_) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values_.size()));
}

ordered_json Series::to_json(const RepetitionPolicy& policy) const {
  const MedianInterval found = interval(policy.confidence);
  const std::string unit = name_of(unit_);
  return {{"values_" + unit, values_},      {"median_" + unit, found.median},
          {"low_" + unit, found.low},       {"high_" + unit, found.high},
          {"confidence", found.confidence}, {"converged", converged(policy)}};
}

Rates::Rates(Unit unit, std::vector<std::string> metrics, std::string headline)
    : metrics_(std::move(metrics)),
      headline_(std::move(headline)),
      series_(metrics_.size(), Series(unit)) {}

Rates Rates::of_bytes(const char* headline) {
  return {Unit::bytes_per_second, {"span", "slowest_rank", "sum_of_ranks", "foreground"}, headline};
}

Rates Rates::of_operations() {
  return {Unit::per_second, {"barrier", "span", "sum_of_ranks"}, "span"};
}

void Rates::add(std::span<const double> values) {
  for (std::size_t i = 0; i < series_.size(); ++i) series_[i].add(values[i]);
}

const Series& Rates::of(std::string_view metric) const {
  const auto found = std::find(metrics_.begin(), metrics_.end(), metric);
  return series_.at(static_cast<std::size_t>(found - metrics_.begin()));
}

ordered_json Rates::to_json(const ordered_json& head, const RepetitionPolicy& policy) const {
  ordered_json records = ordered_json::array();
  for (std::size_t i = 0; i < series_.size(); ++i) {
    ordered_json record = head;
    record["metric"] = metrics_[i];
    record["headline"] = metrics_[i] == headline_;
    record.update(series_[i].to_json(policy));
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace weir::bench
