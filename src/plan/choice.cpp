#include "plan/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "common/bytes_text.hpp"
#include "common/checked.hpp"
#include "common/page.hpp"
#include "topology/io_groups.hpp"
#include "topology/network.hpp"

namespace weir::plan {
namespace {

constexpr std::int64_t least_usual_buffer = 2 << 20;
constexpr std::int64_t most_usual_buffer = 16 << 20;
// A larger number of aggregators is chosen only for a significant gain, since each aggregator has
// buffers and an open file.
constexpr double worth_more = 0.98;

// Returns the number of nodes in the largest group.
std::int64_t nodes_in_group(const topology::Topology& topology, Strategy strategy) {
  return (topology.nodes() - 1) / Plan::groups(topology, strategy) + 1;
}

// Returns the number of aggregators that a group can have: exactly if all nodes are one group,
// otherwise for the largest group.
std::int64_t most_aggregators(const topology::Topology& topology, Strategy strategy,
                              std::int64_t holders) {
  const std::int64_t groups = Plan::groups(topology, strategy);
  const std::int64_t ranks = (topology.ranks() - 1) / groups + 1;
  if (holders == 0) return ranks;
  const std::int64_t most = std::min(ranks, nodes_in_group(topology, strategy) * holders);
  if (groups > 1) return most;
  const auto all = topology::AggregatorPlacement::create(topology, gathers_within(strategy), ranks,
                                                         {holders, 1});
  return all ? all.value().aggregators_in(0) : most;
}

// Returns the number of targets over which round-robin units of length `alignment` go in turn.
// Several neighbouring stripes in one unit count as one stripe on several targets.
std::int64_t targets_in_turn(const topology::FileTargets& targets, std::int64_t alignment) {
  if (targets.count <= 1 || targets.stripe_bytes <= 0) return 1;
  if (alignment % targets.stripe_bytes != 0) return 1;
  return targets.count / std::gcd(targets.count, alignment / targets.stripe_bytes);
}

// Returns the numbers of aggregators in a group that are worth pricing: one, one per node, a few
// per node, and numbers that suit the targets. If there are striped targets, all these numbers
// serve the targets equally, or are those of aggregators of a node that have one of its
// `stripes_of_node` or a few.
std::set<std::int64_t> candidates(const topology::Topology& topology, Strategy strategy,
                                  const topology::FileTargets& targets, std::int64_t in_turn,
                                  std::int64_t most, std::int64_t stripes_of_node) {
  const std::int64_t groups = Plan::groups(topology, strategy);
  const std::int64_t all_nodes = std::max<std::int64_t>(1, topology.nodes() / groups);
  const bool by_node = gathers_within(strategy) == topology::GatherWithin::node;
  const std::int64_t nodes = by_node ? all_nodes : topology::nodes_for_targets(all_nodes, in_turn);
  std::set<std::int64_t> counts = {
      1, std::min(most, topology::aggregators_for(topology, gathers_within(strategy), targets))};
  for (const std::int64_t per_node : {1, 2, 4, 8, 16}) {
    counts.insert(std::min(most, nodes * per_node));
  }
  if (by_node && in_turn > 1) {
    for (const std::int64_t each : {1, 2, 4, 8}) {
      counts.insert(std::clamp<std::int64_t>(stripes_of_node / each, 1, most));
    }
  }
  if (by_node || in_turn <= 1) return counts;
  std::set<std::int64_t> alike;
  for (const std::int64_t count : counts) alike.insert(topology::serving_alike(count, in_turn));
  return alike;
}

// Tries pieces shorter than the buffers, for the case that several nodes exchange few pieces: the
// links are then idle while the first pieces arrive and the last ones are written. Each step down
// must be worth its messages and calls. It is not for arrays in chunks, whose pieces consist of
// whole chunks, nor for several arrays, which share buffers.
Price with_shorter_pieces(const Pricing& pricing, Price best, Engines engines,
                          const Request& request, const topology::Topology& topology) {
  // Shorter messages cost the processors more than the links gain (measured on four nodes of two
  // ranks on two cores, with links of 100 Mbit/s).
  constexpr std::int64_t least_piece = 512 << 10;
  const bool by_message = gathers_within(best.parameters.strategy) != topology::GatherWithin::node;
  if (!by_message || best.parameters.strategy == Strategy::direct || topology.nodes() < 2 ||
      request.arrays.size() != 1 || request.arrays.front().image.chunked() != nullptr) {
    return best;
  }
  for (Parameters parameters = best.parameters;;) {
    parameters.buffer_bytes /= 2;
    if (parameters.buffer_bytes < least_piece) return best;
    if (parameters.buffer_bytes % parameters.alignment != 0) return best;
    const auto shorter = pricing.price(parameters, engines);
    if (!shorter || shorter.value().seconds >= worth_more * best.seconds) return best;
    best = shorter.value();
  }
}

// Returns the number of files over which chunks are distributed: with as many aggregators, no file
// is shared between aggregators.
std::int64_t files_of_chunks(const Request& request) {
  std::int64_t files = 1;
  for (const ArrayRequest& one : request.arrays) {
    if (one.image.chunked() != nullptr) files = std::max(files, one.image.files());
  }
  return files;
}

DomainAssignment assignment_for(const topology::FileTargets& targets, std::int64_t aggregators) {
  const bool own_targets = targets.count > 1 && targets.stripe_bytes > 0 &&
                           (aggregators % targets.count == 0 || targets.count % aggregators == 0);
  return own_targets ? DomainAssignment::striped : DomainAssignment::contiguous;
}

bool knows_hops(const topology::Topology& topology, const PlatformRates& rates) {
  return topology.network() != nullptr && rates.hop_bytes_per_second > 0;
}

// Returns what a hop costs compared with the link of a node; the same if the rate is not known.
double hop_cost(const topology::Topology& topology, const PlatformRates& rates) {
  if (!knows_hops(topology, rates)) return 1;
  return rates.link_bytes_per_second / rates.hop_bytes_per_second;
}

// Returns the placements to be priced for one that was asked for. The greedy one of `priced` need
// not be the cheapest as a whole.
std::vector<topology::PlacementRule> placements(topology::PlacementRule asked,
                                                const topology::Topology& topology,
                                                const PlatformRates& rates) {
  using topology::PlacementRule;
  if (asked != PlacementRule::priced || !knows_hops(topology, rates)) return {asked};
  return {PlacementRule::priced, PlacementRule::nearest, PlacementRule::spread};
}

// Returns the price with the cheapest of some placements. Fails if the first one does.
Result<Price> cheapest_placement(const Pricing& pricing, Parameters parameters, Engines engines,
                                 const std::vector<topology::PlacementRule>& rules) {
  parameters.placement = rules.front();
  auto best = pricing.price(parameters, engines);
  const bool placed =
      parameters.strategy != Strategy::direct && parameters.strategy != Strategy::node_aggregation;
  for (std::size_t other = 1; best && placed && other < rules.size(); ++other) {
    parameters.placement = rules[other];
    auto price = pricing.price(parameters, engines);
    if (price && price.value().seconds < best.value().seconds) best = std::move(price);
  }
  return best;
}

// Returns the engine and the times with other engines, or an empty text if there was no other.
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

Error needs_one_node(Strategy strategy, bool grouped) {
  return Error(
      ErrorCode::unsupported,
      fmt::format(
          "strategy {} is not possible: several nodes would write the file, and on its file system "
          "(NFS or similar) nodes do not see each other's writes; {} two-phase or server-directed, "
          "or the strategy automatic, with which one node writes for all",
          name_of(strategy),
          grouped ? "open the session without io_groups (WEIR_IO_GROUPS), and use" : "use"));
}

std::string reason(const Price& chosen, const Price* direct) {
  const std::string rows = fmt::format("rows are {} long", bytes_text(chosen.bytes_per_run));
  if (chosen.parameters.strategy == Strategy::direct) {
    return rows + ", so a call for each costs less than gathering them";
  }
  std::string text =
      rows + fmt::format(", gathered into calls of {}", bytes_text(chosen.bytes_per_call));
  if (direct != nullptr && direct->lock_seconds > direct->call_seconds) {
    text += fmt::format("; direct writes would take {:.3g} s only to pass blocks between nodes",
                        direct->lock_seconds);
  } else if (direct != nullptr) {
    text += fmt::format("; direct writes would take {1:.3g} s only for {0} calls", direct->calls,
                        direct->call_seconds);
  }
  return text;
}

}  // namespace

std::int64_t alignment_for(const topology::FileTargets& targets) {
  const std::int64_t stripe = std::max(targets.stripe_bytes, page_bytes);
  const std::int64_t lock = std::max(targets.lock_bytes, page_bytes);
  const auto both = checked_multiply(stripe / std::gcd(stripe, lock), lock);
  return both && *both <= 4 * std::max(stripe, lock) ? *both : std::max(stripe, lock);
}

std::int64_t usual_buffer_bytes(const topology::FileTargets& targets) {
  return std::clamp(alignment_for(targets), least_usual_buffer, most_usual_buffer);
}

std::int64_t usual_buffers(std::int64_t buffer_bytes, std::int64_t nodes) {
  constexpr std::int64_t most_usual_bytes = 16 << 20;  // per aggregator
  constexpr std::int64_t most_usual_buffers = 8;
  if (nodes == 1) return 2;
  return std::clamp<std::int64_t>(most_usual_bytes / buffer_bytes, 2, most_usual_buffers);
}

std::int64_t usual_holders(std::int64_t ranks_of_a_node) {
  constexpr std::int64_t most_holders = 16;
  return std::min(ranks_of_a_node, most_holders);
}

Result<Choice> choose(const Request& request, const topology::Topology& topology,
                      const topology::FileTargets& targets, const PlatformRates& rates,
                      const Overrides& overrides) {
  Choice choice;
  choice.forced = overrides.strategy.has_value();
  choice.rates_origin = rates.origin;
  if (topology.io_groups() > 1) choice.io_groups = topology::text_of_io_groups(topology);
  if (topology.network() != nullptr) choice.network = topology.network()->text();
  choice.placement = overrides.placement;
  const auto pricing = Pricing::create(request, topology, targets, rates);
  if (!pricing) return pricing.error();
  std::optional<Error> refused;
  const std::int64_t files = files_of_chunks(request);
  // A single node is coherent with itself. The first aggregator is on the first node, like rank 0,
  // which writes headers.
  const bool by_one_node = !targets.coherent_caches && topology.nodes() > 1;
  for (const Strategy strategy : all_strategies) {
    const bool by_several = strategy == Strategy::direct || Plan::groups(topology, strategy) > 1;
    if (by_one_node && by_several) {
      if (!refused || strategy == overrides.strategy) {
        refused = needs_one_node(strategy, topology.io_groups() > 1);
      }
      if (strategy == overrides.strategy) return *refused;
      continue;
    }
    const std::int64_t alignment = overrides.alignment.value_or(alignment_for(targets));
    const std::int64_t in_turn = targets_in_turn(targets, alignment);
    const std::int64_t most = most_aggregators(topology, strategy, overrides.holders);
    // Prices of machines that are not simulated do not tell how stripes are shared out.
    const std::int64_t stripes =
        rates.by_flows ? request.bytes() / topology.nodes() / alignment : 1;
    std::set<std::int64_t> counts = candidates(topology, strategy, targets, in_turn, most, stripes);
    const bool all_in_one = Plan::groups(topology, strategy) == 1;
    if (files > 1 && files <= most && all_in_one) counts = {files};
    if (strategy == Strategy::direct) counts = {1};
    if (by_one_node) {
      counts = {1};
    } else if (overrides.aggregators_per_group && strategy != Strategy::direct &&
               strategy != Strategy::node_aggregation) {
      counts = {std::min(most, *overrides.aggregators_per_group)};
    } else if (overrides.aggregators_per_node) {
      counts = {nodes_in_group(topology, strategy) * *overrides.aggregators_per_node};
    }
    std::optional<Price> best;
    for (const std::int64_t aggregators : counts) {
      Parameters parameters;
      parameters.strategy = strategy;
      parameters.aggregators = aggregators;
      parameters.holders = overrides.holders;
      parameters.alignment = alignment;
      parameters.buffer_bytes = overrides.buffer_bytes.value_or(usual_buffer_bytes(targets));
      parameters.assignment = overrides.assignment.value_or(assignment_for(targets, aggregators));
      if (parameters.assignment == DomainAssignment::striped) parameters.targets = in_turn;
      parameters.nodes_per_way_out = overrides.nodes_per_way_out;
      parameters.hop_cost = hop_cost(topology, rates);
      const auto price =
          cheapest_placement(pricing.value(), parameters, overrides.engines,
                             by_one_node ? std::vector{topology::PlacementRule::spread}
                                         : placements(overrides.placement, topology, rates));
      if (!price) {
        if (!refused) refused = price.error();
        continue;
      }
      if (!best || price.value().seconds < worth_more * best->seconds) best = price.value();
    }
    if (best && (overrides.shorter_pieces || !overrides.buffer_bytes)) {
      best = with_shorter_pieces(pricing.value(), *best, overrides.engines, request, topology);
    }
    if (best) choice.prices.push_back(*best);
  }
  if (choice.prices.empty()) return *refused;
  std::stable_sort(choice.prices.begin(), choice.prices.end(),
                   [](const Price& a, const Price& b) { return a.seconds < b.seconds; });
  choice.chosen = choice.prices.front();
  if (overrides.stagers && request.direction == Direction::write) {
    // Stagers merge what ranks of a node hand over, as aggregators of the node would.
    std::int64_t bytes_per_call = choice.chosen.bytes_per_call;
    for (const Price& price : choice.prices) {
      if (price.parameters.strategy == Strategy::node_aggregation) {
        bytes_per_call = price.bytes_per_call;
      }
    }
    choice.staged = pricing.value().price_staged(*overrides.stagers, bytes_per_call);
    choice.staged->unstaged_seconds = choice.prices.front().seconds;
  }
  for (const Price& price : choice.prices) {
    if (choice.forced && price.parameters.strategy == *overrides.strategy) choice.chosen = price;
  }
  return choice;
}

std::string Choice::explain() const {
  const Parameters& taken = chosen.parameters;
  std::string text = fmt::format("{} ", name_of(taken.strategy));
  if (taken.strategy != Strategy::direct) {
    text += fmt::format("with {} aggregator{}, buffers of {}, domains {} at multiples of {} ",
                        chosen.aggregators, chosen.aggregators == 1 ? "" : "s",
                        bytes_text(taken.buffer_bytes),
                        taken.assignment == DomainAssignment::striped ? "in turn" : "cut",
                        bytes_text(taken.alignment));
  }
  const Price* direct = nullptr;
  for (const Price& price : prices) {
    if (price.parameters.strategy == Strategy::direct) direct = &price;
  }
  if (forced && staged && staged->stagers.exist && taken.strategy == Strategy::direct) {
    text += "because a stager merges what ranks hand over";
  } else {
    text += forced ? "because a setting says so" : "because " + reason(chosen, direct);
  }
  text +=
      "\nstrategy         aggregators   seconds    gather  exchange     calls     bytes     locks";
  for (const Price& price : prices) {
    text += fmt::format("\n{:<16} {:>11} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g}",
                        name_of(price.parameters.strategy), price.aggregators, price.seconds,
                        price.gather_seconds, price.exchange_seconds, price.call_seconds,
                        price.file_seconds, price.lock_seconds);
  }
  text += engines_text(chosen);
  if (staged) {
    text += "\nstaging: " + text_of(*staged, name_of(prices.front().parameters.strategy));
  }
  if (!io_groups.empty()) text += "\nI/O groups: " + io_groups;
  if (placement != topology::PlacementRule::spread) {
    text += fmt::format("\naggregators are placed: {}", topology::name_of(placement));
    if (taken.placement != placement) {
      text += fmt::format(", which is {} here", topology::name_of(taken.placement));
    }
  }
  if (!network.empty()) text += "\nnetwork: " + network;
  if (chosen.mean_hops > 0) {
    text += fmt::format("; a byte from another node passes {:.3g} links, which takes {:.3g} s more",
                        chosen.mean_hops, chosen.hop_seconds);
  }
  if (chosen.link_seconds > 0) {
    text += fmt::format("; the busiest link between switches takes {:.3g} s", chosen.link_seconds);
  }
  return text + "\nrates: " + rates_origin;
}

}  // namespace weir::plan
