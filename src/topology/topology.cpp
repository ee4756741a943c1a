#include "topology/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace weir::topology {
namespace {

constexpr std::int64_t most_ranks = std::numeric_limits<std::int32_t>::max();

// How many of the numbers i in [0, ranks) have (i / block) mod nodes == place.
std::int64_t ranks_at(const Stretch& stretch, std::int64_t place) {
  const std::int64_t round = stretch.block * stretch.nodes;
  const std::int64_t rest = stretch.ranks % round - place * stretch.block;
  return stretch.ranks / round * stretch.block + std::clamp<std::int64_t>(rest, 0, stretch.block);
}

// One stretch for all ranks, if their nodes, numbered by first appearance, follow one.
bool as_one_stretch(const std::vector<std::int64_t>& node_of_rank, std::int64_t nodes,
                    Stretch& one) {
  const auto end_of_first =
      std::find_if(node_of_rank.begin(), node_of_rank.end(), [](std::int64_t n) { return n != 0; });
  one = {static_cast<std::int64_t>(node_of_rank.size()), 0, nodes,
         std::distance(node_of_rank.begin(), end_of_first)};
  for (std::size_t i = 0; i < node_of_rank.size(); ++i) {
    if (node_of_rank[i] != static_cast<std::int64_t>(i) / one.block % nodes) return false;
  }
  return true;
}

}  // namespace

Result<Topology> Topology::single_node(std::int64_t ranks) { return filled(ranks, ranks); }

Result<Topology> Topology::filled(std::int64_t ranks, std::int64_t ranks_per_node) {
  if (ranks < 1 || ranks_per_node < 1) {
    return invalid_argument(
        fmt::format("a topology of {} ranks, {} per node: give at least 1", ranks, ranks_per_node));
  }
  const Stretch all{ranks, 0, (ranks - 1) / ranks_per_node + 1, ranks_per_node};
  return of_stretches({&all, 1});
}

Result<Topology> Topology::dealt(std::int64_t ranks, std::int64_t nodes) {
  const Stretch all{ranks, 0, nodes, 1};
  return of_stretches({&all, 1});
}

Result<Topology> Topology::of_stretches(std::span<const Stretch> stretches) {
  Topology topology;
  for (const Stretch& stretch : stretches) {
    const bool fits = stretch.ranks >= 1 && stretch.nodes >= 1 && stretch.block >= 1 &&
                      stretch.first_node >= 0 && stretch.nodes <= stretch.ranks &&
                      stretch.ranks <= most_ranks - topology.ranks_ &&
                      stretch.first_node <= most_ranks && stretch.block <= most_ranks;
    if (!fits) {
      return invalid_argument(fmt::format(
          "a stretch of {} ranks on {} nodes from node {} on, in blocks of {}: give at least 1 of "
          "each, no more nodes than ranks, and at most {} ranks in all",
          stretch.ranks, stretch.nodes, stretch.first_node, stretch.block, most_ranks));
    }
    topology.first_rank_.push_back(topology.ranks_);
    topology.ranks_ += stretch.ranks;
    topology.nodes_ = std::max(topology.nodes_, stretch.first_node + stretch.nodes);
    topology.stretches_.push_back(stretch);
  }
  if (topology.ranks_ == 0) return invalid_argument("a topology of no rank: give at least 1");
  if (topology.nodes_ > topology.ranks_) {
    return invalid_argument(
        fmt::format("a topology of {} ranks on {} nodes: number the nodes "
                    "from 0 on without gaps",
                    topology.ranks_, topology.nodes_));
  }
  topology.nodes_per_group_ = topology.nodes_;
  if (topology.stretches_.size() > 1) topology.index_nodes();
  topology.fewest_on_a_node_ = topology.ranks_;
  for (std::int64_t node = 0; node < topology.nodes_; ++node) {
    topology.fewest_on_a_node_ = std::min(topology.fewest_on_a_node_, topology.ranks_on(node));
    if (topology.fewest_on_a_node_ == 0) {
      return invalid_argument(
          fmt::format("node {} of {} has no rank: number the nodes from 0 on "
                      "without gaps",
                      node, topology.nodes_));
    }
  }
  return topology;
}

Result<Topology> Topology::of_nodes(std::span<const std::int64_t> node_of_rank) {
  std::map<std::int64_t, std::int64_t> numbers;
  std::vector<std::int64_t> numbered;
  numbered.reserve(node_of_rank.size());
  for (const std::int64_t node : node_of_rank) {
    numbered.push_back(
        numbers.emplace(node, static_cast<std::int64_t>(numbers.size())).first->second);
  }
  std::vector<Stretch> stretches;
  Stretch one;
  if (!numbered.empty() &&
      as_one_stretch(numbered, static_cast<std::int64_t>(numbers.size()), one)) {
    stretches.push_back(one);
  } else {
    for (const std::int64_t node : numbered) {
      if (stretches.empty() || stretches.back().first_node != node) {
        stretches.push_back({0, node, 1, 1});
      }
      ++stretches.back().ranks;
    }
  }
  return of_stretches(stretches);
}

void Topology::index_nodes() {
  first_of_node_.assign(static_cast<std::size_t>(nodes_) + 1, 0);
  for (const Stretch& stretch : stretches_) {
    for (std::int64_t n = 0; n < stretch.nodes; ++n) {
      ++first_of_node_[static_cast<std::size_t>(stretch.first_node + n) + 1];
    }
  }
  std::partial_sum(first_of_node_.begin(), first_of_node_.end(), first_of_node_.begin());
  stretch_of_.resize(static_cast<std::size_t>(first_of_node_.back()));
  std::vector<std::int64_t> next(first_of_node_.begin(), first_of_node_.end() - 1);
  for (std::size_t s = 0; s < stretches_.size(); ++s) {
    for (std::int64_t n = 0; n < stretches_[s].nodes; ++n) {
      auto& place = next[static_cast<std::size_t>(stretches_[s].first_node + n)];
      stretch_of_[static_cast<std::size_t>(place++)] = static_cast<std::int64_t>(s);
    }
  }
}

Result<Topology> Topology::with_io_groups(std::int64_t nodes_per_group) const {
  if (nodes_per_group < 1) {
    return invalid_argument(
        fmt::format("I/O groups of {} nodes: give at least 1", nodes_per_group));
  }
  Topology grouped = *this;
  grouped.nodes_per_group_ = std::min(nodes_per_group, nodes_);
  grouped.groups_ = (nodes_ - 1) / grouped.nodes_per_group_ + 1;
  grouped.group_of_node_.clear();
  grouped.first_in_group_.clear();
  grouped.nodes_by_group_.clear();
  return grouped;
}

Result<Topology> Topology::with_io_groups(std::span<const std::int64_t> group_of_node) const {
  if (static_cast<std::int64_t>(group_of_node.size()) != nodes_) {
    return invalid_argument(
        fmt::format("I/O groups of {} nodes for a topology of {}: give one per "
                    "node",
                    group_of_node.size(), nodes_));
  }
  Topology grouped = *this;
  grouped.nodes_per_group_ = 0;
  grouped.group_of_node_.assign(group_of_node.begin(), group_of_node.end());
  grouped.groups_ = *std::max_element(group_of_node.begin(), group_of_node.end()) + 1;
  if (grouped.groups_ > nodes_ ||
      *std::min_element(group_of_node.begin(), group_of_node.end()) < 0) {
    return invalid_argument(
        fmt::format("{} I/O groups of {} nodes: number them from 0 on without "
                    "gaps",
                    grouped.groups_, nodes_));
  }
  grouped.first_in_group_.assign(static_cast<std::size_t>(grouped.groups_) + 1, 0);
  for (const std::int64_t group : group_of_node) {
    ++grouped.first_in_group_[static_cast<std::size_t>(group) + 1];
  }
  for (std::size_t group = 1; group < grouped.first_in_group_.size(); ++group) {
    if (grouped.first_in_group_[group] == 0) {
      return invalid_argument(
          fmt::format("I/O group {} of {} has no node: number them from 0 on "
                      "without gaps",
                      group - 1, grouped.groups_));
    }
    grouped.first_in_group_[group] += grouped.first_in_group_[group - 1];
  }
  grouped.nodes_by_group_.resize(group_of_node.size());
  std::iota(grouped.nodes_by_group_.begin(), grouped.nodes_by_group_.end(), 0);
  std::stable_sort(grouped.nodes_by_group_.begin(), grouped.nodes_by_group_.end(),
                   [&](std::int64_t a, std::int64_t b) {
                     return grouped.group_of_node_[static_cast<std::size_t>(a)] <
                            grouped.group_of_node_[static_cast<std::size_t>(b)];
                   });
  return grouped;
}

std::size_t Topology::stretch_with(std::int64_t rank) const {
  const auto after = std::upper_bound(first_rank_.begin(), first_rank_.end(), rank);
  return static_cast<std::size_t>(std::distance(first_rank_.begin(), after)) - 1;
}

std::int64_t Topology::node_of(std::int64_t rank) const {
  const std::size_t number = stretch_with(rank);
  const Stretch& stretch = stretches_[number];
  return stretch.first_node + (rank - first_rank_[number]) / stretch.block % stretch.nodes;
}

std::int64_t Topology::ranks_on(std::int64_t node) const {
  if (stretches_.size() == 1) {
    const std::int64_t place = node - stretches_.front().first_node;
    return place < 0 ? 0 : ranks_at(stretches_.front(), place);
  }
  std::int64_t sum = 0;
  const auto end = static_cast<std::size_t>(first_of_node_[static_cast<std::size_t>(node) + 1]);
  for (auto at = static_cast<std::size_t>(first_of_node_[static_cast<std::size_t>(node)]); at < end;
       ++at) {
    const Stretch& stretch = stretches_[static_cast<std::size_t>(stretch_of_[at])];
    sum += ranks_at(stretch, node - stretch.first_node);
  }
  return sum;
}

std::int64_t Topology::rank_on(std::int64_t node, std::int64_t position) const {
  const bool one = stretches_.size() == 1;
  auto at = one ? 0 : static_cast<std::size_t>(first_of_node_[static_cast<std::size_t>(node)]);
  for (;; ++at) {
    const auto number = one ? 0 : static_cast<std::size_t>(stretch_of_[at]);
    const Stretch& stretch = stretches_[number];
    const std::int64_t place = node - stretch.first_node;
    const std::int64_t here = ranks_at(stretch, place);
    if (position < here) {
      return first_rank_[number] + position / stretch.block * stretch.block * stretch.nodes +
             place * stretch.block + position % stretch.block;
    }
    position -= here;
  }
}

std::int64_t Topology::position_on_node(std::int64_t rank) const {
  const std::size_t number = stretch_with(rank);
  const Stretch& stretch = stretches_[number];
  const std::int64_t inside = rank - first_rank_[number];
  const std::int64_t node = stretch.first_node + inside / stretch.block % stretch.nodes;
  std::int64_t position =
      inside / (stretch.block * stretch.nodes) * stretch.block + inside % stretch.block;
  if (stretches_.size() == 1) return position;
  for (auto at = static_cast<std::size_t>(first_of_node_[static_cast<std::size_t>(node)]);
       static_cast<std::size_t>(stretch_of_[at]) != number; ++at) {
    const Stretch& before = stretches_[static_cast<std::size_t>(stretch_of_[at])];
    position += ranks_at(before, node - before.first_node);
  }
  return position;
}

std::int64_t Topology::io_group_of_node(std::int64_t node) const {
  if (nodes_per_group_ > 0) return node / nodes_per_group_;
  return group_of_node_[static_cast<std::size_t>(node)];
}

std::int64_t Topology::nodes_in_group(std::int64_t group) const {
  if (nodes_per_group_ > 0) {
    return std::min(nodes_per_group_, nodes_ - group * nodes_per_group_);
  }
  return first_in_group_[static_cast<std::size_t>(group) + 1] -
         first_in_group_[static_cast<std::size_t>(group)];
}

std::int64_t Topology::node_in_group(std::int64_t group, std::int64_t position) const {
  if (nodes_per_group_ > 0) return group * nodes_per_group_ + position;
  return nodes_by_group_[static_cast<std::size_t>(first_in_group_[static_cast<std::size_t>(group)] +
                                                  position)];
}

std::int64_t Topology::position_in_group(std::int64_t node) const {
  if (nodes_per_group_ > 0) return node % nodes_per_group_;
  const auto group = static_cast<std::size_t>(io_group_of_node(node));
  const auto first = nodes_by_group_.begin() + first_in_group_[group];
  return std::distance(
      first, std::lower_bound(first, nodes_by_group_.begin() + first_in_group_[group + 1], node));
}

}  // namespace weir::topology
