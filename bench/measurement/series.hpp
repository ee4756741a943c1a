// The figures of a run by repetition: one value for each counted repetition, in their order, and
// what follows from all of them. On rank 0.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measurement/repetition.hpp"

namespace weir::bench {

enum class Unit { bytes_per_second, per_second, seconds };
[[nodiscard]] const char* name_of(Unit unit);  // as it ends the names of values in results

// One figure.
class Series {
 public:
  explicit Series(Unit unit, std::vector<double> values = {})
      : unit_(unit), values_(std::move(values)) {}

  void add(double value) { values_.push_back(value); }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }
  [[nodiscard]] bool empty() const { return values_.empty(); }

  // The following statistics are 0 if there is no value.
  [[nodiscard]] MedianInterval interval(double confidence = 0.95) const {
    return median_interval(values_, confidence);
  }
  [[nodiscard]] double median() const { return interval().median; }
  [[nodiscard]] double least() const;
  [[nodiscard]] double most() const;
  [[nodiscard]] double mean() const;
  [[nodiscard]] double deviation() const;  // the standard deviation of the values themselves

  [[nodiscard]] bool converged(const RepetitionPolicy& policy) const {
    return bench::converged(policy, values_);
  }
  // Returns the values, their median with its interval, and whether it has converged.
  [[nodiscard]] nlohmann::ordered_json to_json(const RepetitionPolicy& policy) const;

 private:
  Unit unit_;
  std::vector<double> values_;
};

// Several rates of the same work, each over another time. One of them, the headline, decides when
// there are enough repetitions.
class Rates {
 public:
  // Bytes per second: "span", "slowest_rank", "sum_of_ranks" and "foreground".
  [[nodiscard]] static Rates of_bytes(const char* headline = "span");
  // Operations per second: "barrier", "span" and "sum_of_ranks"; the headline is "span".
  [[nodiscard]] static Rates of_operations();

  // Adds a repetition, with one value for each metric in the order above.
  void add(std::span<const double> values);
  [[nodiscard]] bool empty() const { return series_.front().empty(); }
  [[nodiscard]] const Series& of(std::string_view metric) const;
  [[nodiscard]] const Series& headline() const { return of(headline_); }
  // Returns one record for each metric. Each begins with the fields of `head`.
  [[nodiscard]] nlohmann::ordered_json to_json(const nlohmann::ordered_json& head,
                                               const RepetitionPolicy& policy) const;

 private:
  Rates(Unit unit, std::vector<std::string> metrics, std::string headline);

  std::vector<std::string> metrics_;
  std::string headline_;
  std::vector<Series> series_;  // by metric
};

}  // namespace weir::bench
