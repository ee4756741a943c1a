// How a request is carried out: the strategy and its numbers. A choice by price fills these in; a
// setting may give any of them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/status.hpp"
#include "topology/aggregator_placement.hpp"

namespace weir::plan {

enum class Strategy : std::uint8_t {
  direct,            // every rank transfers its own elements
  node_aggregation,  // a node's aggregators gather from its ranks by shared memory
  two_phase,  // aggregators gather from all ranks of their I/O group; ranks send by themselves
  server_directed,  // the same, but an aggregator asks for each piece when it has a buffer for it
};
inline constexpr std::array<Strategy, 4> all_strategies = {
    Strategy::direct, Strategy::node_aggregation, Strategy::two_phase, Strategy::server_directed};

// "direct", "node", "two-phase", "server-directed", and back; fails on others, listing these.
[[nodiscard]] std::string_view name_of(Strategy strategy);
Result<Strategy> parse_strategy(std::string_view name);

// The ranks whose data one aggregator gathers; without meaning for direct.
[[nodiscard]] constexpr topology::GatherWithin gathers_within(Strategy strategy) {
  return strategy == Strategy::node_aggregation ? topology::GatherWithin::node
                                                : topology::GatherWithin::io_group;
}

// How units of a dense image (parts of the file of the alignment's multiple) go to aggregators.
enum class DomainAssignment : std::uint8_t {
  contiguous,  // one contiguous file domain each
  striped,     // stripe after stripe in turn, so that each aggregator has targets of its own
};

struct Parameters {
  Strategy strategy = Strategy::two_phase;
  std::int64_t aggregators = 1;         // in each group (node or I/O group); without use for direct
  std::int64_t buffer_bytes = 4 << 20;  // of one piece; an aggregator has two or more of these
  std::int64_t alignment = 4096;        // of file domains, bytes: pages, stripes, lock blocks
  DomainAssignment assignment = DomainAssignment::contiguous;
  // Ranks of a node that can be aggregators, since they have buffers; 0: all.
  std::int64_t holders = 0;
  // Where stripes are distributed round-robin: targets that they are on, in turn too. Aggregators
  // of one target are then on few nodes.
  std::int64_t targets = 1;

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

}  // namespace weir::plan
