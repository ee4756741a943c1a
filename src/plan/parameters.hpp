// Determines how a request is carried out: the strategy and its parameters. They are chosen by
// price; settings may prescribe any of them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/status.hpp"
#include "topology/aggregator_placement.hpp"

namespace weir::plan {

enum class Strategy : std::uint8_t {
  direct,            // every rank transfers its own elements
  node_aggregation,  // a node's aggregators gather from its ranks through shared memory
  // Aggregators gather from all ranks of their I/O group; ranks send without being asked.
  two_phase,
  // Like two_phase, but an aggregator asks for each piece when it has a buffer for it.
  server_directed,
};
inline constexpr std::array<Strategy, 4> all_strategies = {
    Strategy::direct, Strategy::node_aggregation, Strategy::two_phase, Strategy::server_directed};

// Convert between strategies and the names "direct", "node", "two-phase" and "server-directed".
// parse_strategy() fails on other names and lists these.
[[nodiscard]] std::string_view name_of(Strategy strategy);
Result<Strategy> parse_strategy(std::string_view name);

// Returns the ranks whose data one aggregator gathers; meaningless for direct.
[[nodiscard]] constexpr topology::GatherWithin gathers_within(Strategy strategy) {
  return strategy == Strategy::node_aggregation ? topology::GatherWithin::node
                                                : topology::GatherWithin::io_group;
}

// Determines how units of a dense image (ranges of the file in multiples of the alignment) are
// assigned to aggregators.
enum class DomainAssignment : std::uint8_t {
  contiguous,  // one contiguous file domain per aggregator
  striped,     // round-robin by stripe, so that each aggregator has targets of its own
};

struct Parameters {
  Strategy strategy = Strategy::two_phase;
  std::int64_t aggregators = 1;         // in each group (node or I/O group); unused by direct
  std::int64_t buffer_bytes = 4 << 20;  // of one piece; an aggregator has two or more buffers
  std::int64_t alignment = 4096;        // of file domains, in bytes: pages, stripes, lock blocks
  DomainAssignment assignment = DomainAssignment::contiguous;
  // Ranks of a node that can be aggregators because they have buffers; 0: all.
  std::int64_t holders = 0;
  // If stripes are assigned round-robin: the number of targets over which they go, also
  // round-robin. The aggregators of one target are then on few nodes.
  std::int64_t targets = 1;
  // The rule says where in its group each aggregator is; direct and node aggregation do not use it.
  topology::PlacementRule placement = topology::PlacementRule::spread;
  // Consecutive nodes of a group that share a way to the storage; 0: a group has one way.
  std::int64_t nodes_per_way_out = 0;
  // The cost of a hop of a byte with the placement `priced`, compared with its time on the link of
  // a node.
  double hop_cost = 1;

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

}  // namespace weir::plan
