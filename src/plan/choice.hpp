// Chooses how to carry out a request: the cheapest way by price, unless a setting prescribes one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "plan/price.hpp"

namespace weir::plan {

// Parameters that settings fix; the others are chosen.
struct Overrides {
  std::optional<Strategy> strategy;
  Engines engines = Engines::only(Engine::posix);  // the engine is one of these
  std::optional<std::int64_t> aggregators_per_node;
  // Number of ranks of a node that have buffers, which limits its aggregators; 0: all.
  std::int64_t holders = 0;
  std::optional<std::int64_t> buffer_bytes;
  // True if pieces may be shorter than the given buffers when that lowers the price. If no buffer
  // size is given, they always may.
  bool shorter_pieces = false;
  std::optional<std::int64_t> alignment;
  std::optional<DomainAssignment> assignment;
  // Layout of the request's files, if it is known better than for all files of the job.
  std::optional<topology::FileTargets> targets;
  topology::PlacementRule placement = topology::PlacementRule::spread;
  // Aggregators of each I/O group, instead of those of each node; without effect on node
  // aggregation.
  std::optional<std::int64_t> aggregators_per_group;
  std::int64_t nodes_per_way_out = 0;  // as in Parameters
  // To which stagers a write is handed over, or, if they do not exist, with which it is compared.
  std::optional<Stagers> stagers;
  // If true, all nodes count as one I/O group.
  bool in_one_group = false;

  friend bool operator==(const Overrides&, const Overrides&) = default;
};

// Returns the alignment of file domain boundaries unless settings prescribe one: a common multiple
// of stripes and lock blocks, or the larger of both if the multiple is too large.
[[nodiscard]] std::int64_t alignment_for(const topology::FileTargets& targets);

// Returns the buffer length unless settings prescribe one. Calls on several stripes or lock blocks
// are no more efficient than calls on one. Two large buffers are better than many small ones, since
// each piece costs a wait for every rank that shares it.
[[nodiscard]] std::int64_t usual_buffer_bytes(const topology::FileTargets& targets);
// Returns how many buffers an aggregator of a session on so many nodes has if nothing else is
// asked for. One fills while another is moved. Messages take longer than copies, and the last
// message of a piece may be much later than the others; more buffers keep the links busy meanwhile.
[[nodiscard]] std::int64_t usual_buffers(std::int64_t buffer_bytes, std::int64_t nodes);
// Returns how many ranks of a node have buffers, and may be aggregators, if settings do not say it:
// so many fill its link and its page cache, and each of them takes memory for buffers.
[[nodiscard]] std::int64_t usual_holders(std::int64_t ranks_of_a_node);

struct Choice {
  Price chosen;
  std::vector<Price> prices;  // of each strategy, with its best number of aggregators; the cheapest
                              // first
  bool forced = false;        // a setting prescribes the strategy
  // The price with the stagers of the overrides, of a write. Its encoding has no price.
  std::optional<StagedPrice> staged;
  std::string rates_origin;  // PlatformRates::origin
  std::string io_groups;     // number and sizes of the I/O groups; empty if there is one
  std::string network;       // the network between the nodes; empty if it is not known
  // The rule that was asked for. With `priced`, the parameters may have another one that costs
  // less.
  topology::PlacementRule placement = topology::PlacementRule::spread;

  [[nodiscard]] const Parameters& parameters() const { return chosen.parameters; }
  [[nodiscard]] Engine engine() const { return chosen.engine; }
  // Returns the prices and the reason as text for users: several lines, without a newline at the
  // end.
  [[nodiscard]] std::string explain() const;
};

// Makes the same choice on all ranks that pass the same arguments. If the caches of several nodes
// are not coherent, one aggregator for all ranks moves all bytes. Fails if the prescribed strategy
// cannot do that, or if Plan::create fails for every strategy that may be chosen; the first error
// is reported.
[[nodiscard]] Result<Choice> choose(const Request& request, const topology::Topology& topology,
                                    const topology::FileTargets& targets,
                                    const PlatformRates& rates, const Overrides& overrides);

}  // namespace weir::plan
