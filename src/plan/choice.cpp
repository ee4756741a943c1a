#include "plan/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "common/checked.hpp"

namespace weir::plan {
namespace {

constexpr std::int64_t usual_buffer = 4 << 20;
constexpr std::int64_t page = 4096;

// Of the largest group.
std::int64_t nodes_in_group(const topology::Topology& topology, Strategy strategy) {
  return (topology.nodes() - 1) / Plan::groups(topology, strategy) + 1;
}

// Aggregators in a group that are worth a price: one, one per node, a few per node, as targets
// have it, all ranks.
std::set<std::int64_t> candidates(const topology::Topology& topology, Strategy strategy,
                                  const topology::FileTargets& targets) {
  const std::int64_t groups = Plan::groups(topology, strategy);
  const std::int64_t nodes = std::max<std::int64_t>(1, topology.nodes() / groups);
  const std::int64_t ranks = (topology.ranks() - 1) / groups + 1;
  std::set<std::int64_t> counts = {1, aggregators_for(topology, gathers_within(strategy), targets),
                                   ranks};
  for (const std::int64_t per_node : {1, 2, 4, 8}) counts.insert(std::min(ranks, nodes * per_node));
  return counts;
}

DomainDealing dealing_for(const topology::FileTargets& targets, std::int64_t aggregators) {
  const bool own_targets = targets.count > 1 && targets.stripe_bytes > 0 &&
                           (aggregators % targets.count == 0 || targets.count % aggregators == 0);
  return own_targets ? DomainDealing::striped : DomainDealing::contiguous;
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes >= 1 << 30) return fmt::format("{:.4g} GiB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= 1 << 20) return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / (1 << 10));
  return fmt::format("{} B", bytes);
}

// The engine and what others would take; nothing where there was no other.
std::string engines_text(const Price& chosen) {
  std::string others;
  for (const Engine engine : all_engines) {
    const double seconds = chosen.seconds_by_engine.at(static_cast<std::size_t>(engine));
    if (engine == chosen.engine || seconds < 0) continue;
    others += fmt::format("{}{} {:.3g} s", others.empty() ? "" : ", ", name_of(engine), seconds);
  }
  return fmt::format("\nengine: {}{}", name_of(chosen.engine),
                     others.empty() ? others : fmt::format(" ({})", others));
}

std::string reason(const Price& chosen, const Price* direct) {
  const std::string rows = fmt::format("rows are {} long", bytes_text(chosen.bytes_per_run));
  if (chosen.parameters.strategy == Strategy::direct) {
    return rows + ": a call for each costs less than gathering them";
  }
  std::string text =
      rows + fmt::format(", gathered into calls of {}", bytes_text(chosen.bytes_per_call));
  if (direct != nullptr && direct->lock_seconds > direct->call_seconds) {
    text += fmt::format("; written directly, blocks going between nodes alone would take {:.3g} s",
                        direct->lock_seconds);
  } else if (direct != nullptr) {
    text += fmt::format("; written directly, {} calls alone would take {:.3g} s", direct->calls,
                        direct->call_seconds);
  }
  return text;
}

}  // namespace

std::int64_t alignment_for(const topology::FileTargets& targets) {
  const std::int64_t stripe = std::max(targets.stripe_bytes, page);
  const std::int64_t lock = std::max(targets.lock_bytes, page);
  const auto both = checked_multiply(stripe / std::gcd(stripe, lock), lock);
  return both && *both <= 4 * std::max(stripe, lock) ? *both : std::max(stripe, lock);
}

Result<Choice> choose(const Request& request, const topology::Topology& topology,
                      const topology::FileTargets& targets, const PlatformRates& rates,
                      const Overrides& overrides) {
  Choice choice;
  choice.forced = overrides.strategy.has_value();
  choice.rates_origin = rates.origin;
  const auto pricing = Pricing::create(request, topology, targets, rates);
  if (!pricing) return pricing.error();
  std::optional<Error> refused;
  for (const Strategy strategy : all_strategies) {
    std::set<std::int64_t> counts = candidates(topology, strategy, targets);
    if (strategy == Strategy::direct) counts = {1};
    if (overrides.aggregators_per_node) {
      counts = {nodes_in_group(topology, strategy) * *overrides.aggregators_per_node};
    }
    std::optional<Price> best;
    for (const std::int64_t aggregators : counts) {
      Parameters parameters;
      parameters.strategy = strategy;
      parameters.aggregators = aggregators;
      parameters.alignment = overrides.alignment.value_or(alignment_for(targets));
      parameters.buffer_bytes =
          overrides.buffer_bytes.value_or(std::max(usual_buffer, parameters.alignment));
      parameters.dealing = overrides.dealing.value_or(dealing_for(targets, aggregators));
      const auto price = pricing.value().price(parameters, overrides.engines);
      if (!price) {
        if (!refused) refused = price.error();
        continue;
      }
      // More aggregators only for a gain worth speaking of: each has buffers and an open file.
      if (!best || price.value().seconds < 0.98 * best->seconds) best = price.value();
    }
    if (best) choice.prices.push_back(*best);
  }
  if (choice.prices.empty()) return *refused;
  std::stable_sort(choice.prices.begin(), choice.prices.end(),
                   [](const Price& a, const Price& b) { return a.seconds < b.seconds; });
  choice.chosen = choice.prices.front();
  for (const Price& price : choice.prices) {
    if (choice.forced && price.parameters.strategy == *overrides.strategy) choice.chosen = price;
  }
  return choice;
}

std::string Choice::explain() const {
  const Parameters& taken = chosen.parameters;
  std::string text = fmt::format("{} ", name_of(taken.strategy));
  if (taken.strategy != Strategy::direct) {
    text += fmt::format(
        "with {} aggregator{}, buffers of {}, domains {} at multiples of {} ", chosen.aggregators,
        chosen.aggregators == 1 ? "" : "s", bytes_text(taken.buffer_bytes),
        taken.dealing == DomainDealing::striped ? "in turn" : "cut", bytes_text(taken.alignment));
  }
  const Price* direct = nullptr;
  for (const Price& price : prices) {
    if (price.parameters.strategy == Strategy::direct) direct = &price;
  }
  text += forced ? "because a setting says so" : "because " + reason(chosen, direct);
  text +=
      "\nstrategy         aggregators   seconds    gather  exchange     calls     bytes     locks";
  for (const Price& price : prices) {
    text += fmt::format("\n{:<16} {:>11} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g}",
                        name_of(price.parameters.strategy), price.aggregators, price.seconds,
                        price.gather_seconds, price.exchange_seconds, price.call_seconds,
                        price.file_seconds, price.lock_seconds);
  }
  return text + engines_text(chosen) + "\nrates: " + rates_origin;
}

}  // namespace weir::plan
