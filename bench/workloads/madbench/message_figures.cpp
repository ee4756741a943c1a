#include "workloads/madbench/message_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/clock.hpp"
#include "measurement/aggregate.hpp"
#include "measurement/series.hpp"

namespace weir::bench::madbench {
namespace {

using nlohmann::ordered_json;

constexpr std::array<const char*, 3> names = {"messages", "write", "read"};

// Returns the values if every repetition has one, otherwise none: a series has no gaps.
std::vector<double> whole(const std::vector<std::optional<double>>& values) {
  std::vector<double> found;
  for (const std::optional<double>& value : values) {
    if (!value) return {};
    found.push_back(*value);
  }
  return found;
}

ordered_json series_json(const std::vector<std::optional<double>>& values,
                         const RepetitionPolicy& policy) {
  const std::vector<double> found = whole(values);
  if (found.empty()) return nullptr;
  return Series(Unit::bytes_per_second, found).to_json(policy);
}

}  // namespace

void MessageFigures::add(const Job& job, const OfRepetition& mine) {
  const std::array<const Divided*, 3> kinds = {&mine.messages, &mine.writes, &mine.reads};
  std::vector<double> amounts;
  for (const Divided* kind : kinds) {
    for (const Amount* one : {&kind->alone, &kind->together, &kind->partly}) {
      amounts.push_back(static_cast<double>(one->bytes));
      amounts.push_back(seconds_of(one->ns));
    }
  }
  const std::vector<double> sums = sum_over_ranks(job, amounts);
  if (job.rank != 0) return;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const double* const sum = &sums[i * 6];
    const auto rate_of = [&](std::size_t part) -> std::optional<double> {
      if (sum[part + 1] <= 0) return std::nullopt;
      return job.size * sum[part] / sum[part + 1];
    };
    kinds_[i].alone.push_back(rate_of(0));
    kinds_[i].together.push_back(rate_of(2));
    const double bytes = sum[0] + sum[2] + sum[4];
    kinds_[i].together_share.push_back(bytes > 0 ? sum[2] / bytes : 0);
  }
}

std::vector<double> MessageFigures::kept(const Rates& together, const Rates& alone) {
  std::vector<double> ratios;
  const std::size_t both = std::min(together.together.size(), alone.alone.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (together.together[i] && alone.alone[i]) {
      ratios.push_back(*together.together[i] / *alone.alone[i]);
    }
  }
  return ratios;
}

ordered_json MessageFigures::to_json(const RepetitionPolicy& policy,
                                     const MessageFigures* synchronous,
                                     const std::string& id) const {
  ordered_json kinds = ordered_json::array();
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const Rates& rates = kinds_[i];
    ordered_json kind = {{"moved", names.at(i)},
                         {"alone", series_json(rates.alone, policy)},
                         {"together", series_json(rates.together, policy)},
                         {"together_share", median_interval(rates.together_share).median},
                         {"kept", nullptr}};
    const std::vector<double> ratios =
        synchronous == nullptr ? std::vector<double>() : kept(rates, synchronous->kinds_[i]);
    if (!ratios.empty()) {
      const MedianInterval found = median_interval(ratios, policy.confidence);
      kind["kept"] = {{"values", ratios},
                      {"median", found.median},
                      {"low", found.low},
                      {"high", found.high},
                      {"confidence", found.confidence}};
    }
    kinds.push_back(std::move(kind));
  }
  ordered_json sibling;
  if (synchronous != nullptr) sibling = id;
  return {{"alone_run_id", std::move(sibling)}, {"kinds", std::move(kinds)}};
}

std::string MessageFigures::lines(const MessageFigures& synchronous) const {
  std::string text;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const std::vector<double> alone = whole(synchronous.kinds_[i].alone);
    const std::vector<double> together = whole(kinds_[i].together);
    const std::vector<double> ratios = kept(kinds_[i], synchronous.kinds_[i]);
    if (alone.empty() || together.empty() || ratios.empty()) {
      text += fmt::format("{:<10}not moved at the same time in every repetition\n", names.at(i));
      continue;
    }
    constexpr double mebibyte = 1024.0 * 1024.0;
    const MedianInterval ratio = median_interval(ratios);
    text += fmt::format("{:<10}{:>12.1f}{:>12.1f}{:>10.2f}  {:.2f} to {:.2f}\n", names.at(i),
                        median_interval(alone).median / mebibyte,
                        median_interval(together).median / mebibyte, ratio.median, ratio.low,
                        ratio.high);
  }
  return text;
}

}  // namespace weir::bench::madbench
