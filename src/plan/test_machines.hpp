// Regular requests, and machines with a network, for tests of placements of aggregators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "topology/network.hpp"

namespace weir::plan {

// `numbers` of 8 bytes, of which every rank holds equally many: its stretch of the file.
inline Request stretches_of(std::int64_t numbers, std::int64_t ranks) {
  const auto shape = array::Shape::create({numbers}).value();
  const std::vector<array::DistributionFormat> formats = {array::DistributionFormat::block_of()};
  const auto held = array::RegularDistribution::create(shape, formats, {{ranks}}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  return {Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
}

// A cube of numbers, distributed in blocks over the nodes of a torus of the same proportions.
inline Request blocks_of(const array::Indices& extents, const array::Indices& grid) {
  const auto shape = array::Shape::create(extents).value();
  const std::vector<array::DistributionFormat> formats(static_cast<std::size_t>(shape.dimensions()),
                                                       array::DistributionFormat::block_of());
  const auto held = array::RegularDistribution::create(shape, formats, {grid}).value();
  const auto image =
      FileImage::create(shape, array::ElementKind::float64, array::Order::row_major, 0).value();
  return {Direction::write, {{image, {held}, array::Section::of(shape.box()), 0}}};
}

inline topology::Topology machine(std::int64_t nodes, std::int64_t nodes_per_group,
                                  const std::string& network) {
  return topology::Topology::filled(nodes, 1)
      .value()
      .with_io_groups(nodes_per_group)
      .value()
      .with_network(topology::Network::parse(network).value())
      .value();
}

// Pieces of 8 KiB, each aggregator having several.
inline Parameters placed(topology::PlacementRule rule, std::int64_t aggregators) {
  Parameters parameters{Strategy::two_phase, aggregators, 8192, 64};
  parameters.placement = rule;
  return parameters;
}

inline std::vector<std::int64_t> nodes_of(const Plan& plan) {
  std::vector<std::int64_t> nodes;
  nodes.reserve(static_cast<std::size_t>(plan.aggregators()));
  for (std::int64_t number = 0; number < plan.aggregators(); ++number) {
    nodes.push_back(plan.topology().node_of(plan.rank_of(number)));
  }
  return nodes;
}

}  // namespace weir::plan
