// The library's plan of what a description asks for, and the document that tells its outcome.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "array/element_type.hpp"
#include "array/regular_distribution.hpp"
#include "common/status.hpp"
#include "description.hpp"
#include "execution.hpp"
#include "flows.hpp"
#include "plan/choice.hpp"
#include "plan/parameters.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace weir::sim {

struct Planned {
  plan::Parameters parameters;
  std::string explanation;
  bool forced = false;
  std::int64_t aggregators_per_node = 0;  // prescribed to the library; 0: none
  Flows flows;
};

// The array of a description, as its ranks hold it.
struct HeldArray {
  array::ElementType type;
  array::RegularDistribution held;
};

[[nodiscard]] Result<HeldArray> array_of(const Description& asked);
[[nodiscard]] Result<topology::Topology> topology_of(const Description& asked);
[[nodiscard]] Result<plan::Request> request_of(const Description& asked);
// Returns the number of nodes that have the aggregators that are asked for: those of an I/O group,
// or one with node aggregation.
[[nodiscard]] std::int64_t nodes_of_aggregators(const Description& asked,
                                                const topology::Topology& topology);
[[nodiscard]] topology::FileTargets targets_of(const Description& asked);
[[nodiscard]] Result<Planned> plan_of(const Description& asked);
// Likewise for another request of the same bytes; what the description prescribes is added to
// `overrides`.
[[nodiscard]] Result<Planned> plan_of(const Description& asked, const plan::Request& request,
                                      const plan::Overrides& overrides);

// Returns the document that a simulation prints; docs/simulation.md describes it.
[[nodiscard]] nlohmann::ordered_json json_of(const Planned& planned, const Outcome& outcome);

}  // namespace weir::sim
