// Chooses the way to carry out a request: the cheapest by price, unless a setting says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "plan/price.hpp"

namespace weir::plan {

// What settings fix; the rest is chosen.
struct Overrides {
  std::optional<Strategy> strategy;
  Engines engines = Engines::only(Engine::posix);  // one of these
  std::optional<std::int64_t> aggregators_per_node;
  // Ranks of a node that have buffers, so that no more can be aggregators; 0: all.
  std::int64_t holders = 0;
  std::optional<std::int64_t> buffer_bytes;
  // Whether pieces may be shorter than the buffers that are given, where a lower price says so;
  // they may where none are given.
  bool shorter_pieces = false;
  std::optional<std::int64_t> alignment;
  std::optional<DomainAssignment> assignment;
  // How the request's files lie, where that is known better than for all of a job's.
  std::optional<topology::FileTargets> targets;

  friend bool operator==(const Overrides&, const Overrides&) = default;
};

// Where file domains end unless settings say otherwise: what stripes and lock blocks have in
// common; the larger of them where that is too much.
[[nodiscard]] std::int64_t alignment_for(const topology::FileTargets& targets);

// How long buffers are unless settings say otherwise: several stripes or lock blocks make no better
// calls than one, and two large buffers are better than many small ones, as each piece costs every
// rank that shares it a wait.
[[nodiscard]] std::int64_t usual_buffer_bytes(const topology::FileTargets& targets);

struct Choice {
  Price chosen;
  std::vector<Price> prices;  // of each strategy, with its best number of aggregators; the cheapest
                              // first
  bool forced = false;        // the strategy was given
  std::string rates_origin;   // PlatformRates::origin

  [[nodiscard]] const Parameters& parameters() const { return chosen.parameters; }
  [[nodiscard]] Engine engine() const { return chosen.engine; }
  // Prices and reason, for people: several lines, without a newline at the end.
  [[nodiscard]] std::string explain() const;
};

// Ranks that are given the same choose the same. Where the caches of several nodes are not
// coherent, one aggregator of all ranks moves all bytes. Fails on a strategy that is given and
// cannot do that, and where Plan::create does for every strategy that may be chosen; the first
// error is reported.
[[nodiscard]] Result<Choice> choose(const Request& request, const topology::Topology& topology,
                                    const topology::FileTargets& targets,
                                    const PlatformRates& rates, const Overrides& overrides);

}  // namespace weir::plan
