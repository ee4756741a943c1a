#include "workloads/probe/budget.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace weir::bench::probe {
namespace {

constexpr int most_rounds = 15;
// Limit of the lead-in of all ranks. The amount that slow devices and links absorb while idle is
// smaller.
constexpr double most_lead_in_bytes = 32.0 * 1024 * 1024;

std::int64_t operations_at(const Cost& cost, double seconds_per_weight) {
  if (cost.seconds_per_operation <= 0) return cost.most_operations;
  const double wanted = seconds_per_weight * cost.weight / cost.seconds_per_operation;
  if (wanted >= static_cast<double>(cost.most_operations)) return cost.most_operations;
  return std::min(cost.most_operations,
                  std::max(cost.least_operations, static_cast<std::int64_t>(wanted)));
}

double round_at(const std::vector<Cost>& costs, double seconds_per_weight) {
  double seconds = 0;
  for (const Cost& cost : costs) {
    seconds +=
        cost.overhead_seconds +
        cost.seconds_per_operation * static_cast<double>(operations_at(cost, seconds_per_weight));
  }
  return seconds;
}

}  // namespace

std::vector<std::int64_t> plan_operations(const std::vector<Cost>& costs, double round_seconds) {
  // The round's length grows with the seconds per weight, so bisection finds them.
  double low = 0;
  double high = std::max(round_seconds, 0.0);
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (round_at(costs, middle) <= round_seconds ? low : high) = middle;
  }
  std::vector<std::int64_t> operations;
  operations.reserve(costs.size());
  for (const Cost& cost : costs) operations.push_back(operations_at(cost, low));
  return operations;
}

std::int64_t next_pilot(std::int64_t operations, double seconds, double wanted_seconds,
                        std::int64_t most) {
  if (seconds >= wanted_seconds || operations >= most) return std::min(operations, most);
  constexpr double least_growth = 2;
  constexpr double most_growth = 8;
  const double growth =
      std::clamp(wanted_seconds / std::max(seconds, 1e-9), least_growth, most_growth);
  return std::min(most, static_cast<std::int64_t>(growth * static_cast<double>(operations)));
}

std::int64_t lead_in_bytes(double seconds, double bytes_per_second_of_rank, int ranks,
                           std::int64_t unit, std::int64_t operation_bytes,
                           std::int64_t most_bytes) {
  const double wanted =
      std::min(most_lead_in_bytes / ranks, seconds * std::max(bytes_per_second_of_rank, 0.0));
  const auto units = static_cast<std::int64_t>(std::ceil(wanted / static_cast<double>(unit)));
  // At least half of the available bytes is for the timed part.
  const std::int64_t room = std::min(most_bytes - operation_bytes, most_bytes / 2);
  return std::clamp<std::int64_t>(room / unit, 0, units) * unit;
}

double overhead_with_lead_in(double seconds, std::int64_t bytes_before, std::int64_t bytes,
                             double bytes_per_second) {
  const double more = static_cast<double>(bytes - bytes_before) / bytes_per_second;
  if (more >= 0) return seconds + more;
  const double share = static_cast<double>(bytes) / static_cast<double>(bytes_before);
  return std::max(seconds + more, seconds * share);
}

bool another_round(int made, double elapsed, double round_seconds, double seconds) {
  if (made < least_rounds) return true;
  return made < most_rounds && elapsed + 1.05 * round_seconds <= seconds;
}

std::vector<std::size_t> shuffled(std::size_t cells, std::uint64_t seed) {
  std::vector<std::size_t> order(cells);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // This does not use std::shuffle, because its result differs between libraries and ranks must
  // agree.
  std::mt19937_64 random(seed);
  for (std::size_t left = cells; left > 1; --left) {
    std::swap(order[left - 1], order[random() % left]);
  }
  return order;
}

}  // namespace weir::bench::probe
