#include "topology/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "topology/network.hpp"

namespace weir::topology {
namespace {

constexpr std::int64_t most_ranks = std::numeric_limits<std::int32_t>::max();

// Returns how many of the numbers i in [0, ranks) have (i / block) mod nodes == place.
std::int64_t ranks_at(const Stretch& stretch, std::int64_t place) {
  const std::int64_t round = stretch.block * stretch.nodes;
  const std::int64_t rest = stretch.ranks % round - place * stretch.block;
  return stretch.ranks / round * stretch.block + std::clamp<std::int64_t>(rest, 0, stretch.block);
}

// Sets `one` to a single stretch for all ranks and returns true, if the nodes of the ranks,
// numbered by first appearance, follow such a stretch.
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
    return invalid_argument(fmt::format("a topology has {} ranks, {} per node: give at least 1",
                                        ranks, ranks_per_node));
  }
  const Stretch all{ranks, 0, (ranks - 1) / ranks_per_node + 1, ranks_per_node};
  return of_stretches({&all, 1});
}

Result<Topology> Topology::round_robin(std::int64_t ranks, std::int64_t nodes) {
  const Stretch all{ranks, 0, nodes, 1};
  return of_stretches({&all, 1});
}

Result<Topology> Topology::of_stretches(std::span<const Stretch> stretches) {
  Topology topology;
  const auto tables = std::make_shared<Tables>();
  for (const Stretch& stretch : stretches) {
    const bool fits = stretch.ranks >= 1 && stretch.nodes >= 1 && stretch.block >= 1 &&
                      stretch.first_node >= 0 && stretch.nodes <= stretch.ranks &&
                      stretch.ranks <= most_ranks - topology.ranks_ &&
                      stretch.first_node <= most_ranks && stretch.block <= most_ranks;
    if (!fits) {
      return invalid_argument(fmt::format(
          "a part of a topology has {} ranks on {} nodes from node {} on, in blocks of {}: give at "
          "least 1 of each, no more nodes than ranks, and at most {} ranks in all",
          stretch.ranks, stretch.nodes, stretch.first_node, stretch.block, most_ranks));
    }
    tables->first_rank.push_back(topology.ranks_);
    topology.ranks_ += stretch.ranks;
    topology.nodes_ = std::max(topology.nodes_, stretch.first_node + stretch.nodes);
    tables->stretches.push_back(stretch);
  }
  if (topology.ranks_ == 0) return invalid_argument("a topology has no rank: give at least 1");
  if (topology.nodes_ > topology.ranks_) {
    return invalid_argument(
        fmt::format("a topology has {} ranks on {} nodes: number the nodes from 0 on without gaps",
                    topology.ranks_, topology.nodes_));
  }
  topology.nodes_per_group_ = topology.nodes_;
  if (tables->stretches.size() > 1) index_nodes(*tables, topology.nodes_);
  topology.tables_ = tables;
  topology.fewest_on_a_node_ = topology.ranks_;
  // If one stretch covers all nodes, the last node has the fewest ranks.
  const bool is_regular =
      tables->stretches.size() == 1 && tables->stretches.front().first_node == 0;
  for (std::int64_t node = is_regular ? topology.nodes_ - 1 : 0; node < topology.nodes_; ++node) {
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

void Topology::index_nodes(Tables& tables, std::int64_t nodes) {
  tables.first_of_node.assign(static_cast<std::size_t>(nodes) + 1, 0);
  for (const Stretch& stretch : tables.stretches) {
    for (std::int64_t n = 0; n < stretch.nodes; ++n) {
      ++tables.first_of_node[static_cast<std::size_t>(stretch.first_node + n) + 1];
    }
  }
  std::partial_sum(tables.first_of_node.begin(), tables.first_of_node.end(),
                   tables.first_of_node.begin());
  tables.stretch_of.resize(static_cast<std::size_t>(tables.first_of_node.back()));
  std::vector<std::int64_t> next(tables.first_of_node.begin(), tables.first_of_node.end() - 1);
  for (std::size_t s = 0; s < tables.stretches.size(); ++s) {
    for (std::int64_t n = 0; n < tables.stretches[s].nodes; ++n) {
      auto& place = next[static_cast<std::size_t>(tables.stretches[s].first_node + n)];
      tables.stretch_of[static_cast<std::size_t>(place++)] = static_cast<std::int64_t>(s);
    }
  }
}

Result<Topology> Topology::with_io_groups(std::int64_t nodes_per_group) const {
  if (nodes_per_group < 1) {
    return invalid_argument(
        fmt::format("I/O groups have {} nodes: give at least 1", nodes_per_group));
  }
  Topology grouped = *this;
  grouped.nodes_per_group_ = std::min(nodes_per_group, nodes_);
  grouped.groups_ = (nodes_ - 1) / grouped.nodes_per_group_ + 1;
  if (tables_->group_of_node.empty()) return grouped;
  const auto tables = std::make_shared<Tables>(*tables_);
  tables->group_of_node.clear();
  tables->first_in_group.clear();
  tables->nodes_by_group.clear();
  grouped.tables_ = tables;
  return grouped;
}

Result<Topology> Topology::with_io_groups(std::span<const std::int64_t> group_of_node) const {
  if (static_cast<std::int64_t>(group_of_node.size()) != nodes_) {
    return invalid_argument(
        fmt::format("I/O groups are given for {} nodes, but the topology has {}: give one per node",
                    group_of_node.size(), nodes_));
  }
  Topology grouped = *this;
  grouped.nodes_per_group_ = 0;
  const auto tables = std::make_shared<Tables>(*tables_);
  grouped.tables_ = tables;
  tables->group_of_node.assign(group_of_node.begin(), group_of_node.end());
  grouped.groups_ = *std::max_element(group_of_node.begin(), group_of_node.end()) + 1;
  if (grouped.groups_ > nodes_ ||
      *std::min_element(group_of_node.begin(), group_of_node.end()) < 0) {
    return invalid_argument(
        fmt::format("there are {} I/O groups of {} nodes: number them from 0 on without gaps",
                    grouped.groups_, nodes_));
  }
  tables->first_in_group.assign(static_cast<std::size_t>(grouped.groups_) + 1, 0);
  for (const std::int64_t group : group_of_node) {
    ++tables->first_in_group[static_cast<std::size_t>(group) + 1];
  }
  for (std::size_t group = 1; group < tables->first_in_group.size(); ++group) {
    if (tables->first_in_group[group] == 0) {
      return invalid_argument(
          fmt::format("I/O group {} of {} has no node: number them from 0 on "
                      "without gaps",
                      group - 1, grouped.groups_));
    }
    tables->first_in_group[group] += tables->first_in_group[group - 1];
  }
  tables->nodes_by_group.resize(group_of_node.size());
  std::iota(tables->nodes_by_group.begin(), tables->nodes_by_group.end(), 0);
  std::stable_sort(tables->nodes_by_group.begin(), tables->nodes_by_group.end(),
                   [&](std::int64_t a, std::int64_t b) {
                     return tables->group_of_node[static_cast<std::size_t>(a)] <
                            tables->group_of_node[static_cast<std::size_t>(b)];
                   });
  return grouped;
}

Result<Topology> Topology::with_network(const Network& network) const {
  if (Status status = network.check_nodes(nodes_); !status) return status.error();
  Topology connected = *this;
  connected.network_ = std::make_shared<const Network>(network);
  return connected;
}

bool operator==(const Topology& a, const Topology& b) {
  const bool same_network =
      a.network_ == b.network_ ||
      (a.network_ != nullptr && b.network_ != nullptr && *a.network_ == *b.network_);
  return same_network && a.ranks_ == b.ranks_ && a.nodes_ == b.nodes_ && a.groups_ == b.groups_ &&
         a.nodes_per_group_ == b.nodes_per_group_ &&
         (a.tables_ == b.tables_ || *a.tables_ == *b.tables_);
}

std::size_t Topology::stretch_with(std::int64_t rank) const {
  const auto after = std::upper_bound(tables_->first_rank.begin(), tables_->first_rank.end(), rank);
  return static_cast<std::size_t>(std::distance(tables_->first_rank.begin(), after)) - 1;
}

std::int64_t Topology::node_of(std::int64_t rank) const {
  const std::size_t number = stretch_with(rank);
  const Stretch& stretch = tables_->stretches[number];
  return stretch.first_node + (rank - tables_->first_rank[number]) / stretch.block % stretch.nodes;
}

std::int64_t Topology::ranks_on(std::int64_t node) const {
  if (tables_->stretches.size() == 1) {
    const std::int64_t place = node - tables_->stretches.front().first_node;
    return place < 0 ? 0 : ranks_at(tables_->stretches.front(), place);
  }
  std::int64_t sum = 0;
  const auto end =
      static_cast<std::size_t>(tables_->first_of_node[static_cast<std::size_t>(node) + 1]);
  for (auto at = static_cast<std::size_t>(tables_->first_of_node[static_cast<std::size_t>(node)]);
       at < end; ++at) {
    const Stretch& stretch = tables_->stretches[static_cast<std::size_t>(tables_->stretch_of[at])];
    sum += ranks_at(stretch, node - stretch.first_node);
  }
  return sum;
}

std::int64_t Topology::rank_on(std::int64_t node, std::int64_t position) const {
  const bool one = tables_->stretches.size() == 1;
  auto at =
      one ? 0 : static_cast<std::size_t>(tables_->first_of_node[static_cast<std::size_t>(node)]);
  for (;; ++at) {
    const auto number = one ? 0 : static_cast<std::size_t>(tables_->stretch_of[at]);
    const Stretch& stretch = tables_->stretches[number];
    const std::int64_t place = node - stretch.first_node;
    const std::int64_t here = ranks_at(stretch, place);
    if (position < here) {
      return tables_->first_rank[number] +
             position / stretch.block * stretch.block * stretch.nodes + place * stretch.block +
             position % stretch.block;
    }
    position -= here;
  }
}

std::int64_t Topology::position_on_node(std::int64_t rank) const {
  const std::size_t number = stretch_with(rank);
  const Stretch& stretch = tables_->stretches[number];
  const std::int64_t inside = rank - tables_->first_rank[number];
  const std::int64_t node = stretch.first_node + inside / stretch.block % stretch.nodes;
  std::int64_t position =
      inside / (stretch.block * stretch.nodes) * stretch.block + inside % stretch.block;
  if (tables_->stretches.size() == 1) return position;
  for (auto at = static_cast<std::size_t>(tables_->first_of_node[static_cast<std::size_t>(node)]);
       static_cast<std::size_t>(tables_->stretch_of[at]) != number; ++at) {
    const Stretch& before = tables_->stretches[static_cast<std::size_t>(tables_->stretch_of[at])];
    position += ranks_at(before, node - before.first_node);
  }
  return position;
}

std::int64_t Topology::io_group_of_node(std::int64_t node) const {
  if (nodes_per_group_ > 0) return node / nodes_per_group_;
  return tables_->group_of_node[static_cast<std::size_t>(node)];
}

std::int64_t Topology::nodes_in_group(std::int64_t group) const {
  if (nodes_per_group_ > 0) {
    return std::min(nodes_per_group_, nodes_ - group * nodes_per_group_);
  }
  return tables_->first_in_group[static_cast<std::size_t>(group) + 1] -
         tables_->first_in_group[static_cast<std::size_t>(group)];
}

std::int64_t Topology::node_in_group(std::int64_t group, std::int64_t position) const {
  if (nodes_per_group_ > 0) return group * nodes_per_group_ + position;
  return tables_->nodes_by_group[static_cast<std::size_t>(
      tables_->first_in_group[static_cast<std::size_t>(group)] + position)];
}

std::int64_t Topology::position_in_group(std::int64_t node) const {
  if (nodes_per_group_ > 0) return node % nodes_per_group_;
  const auto group = static_cast<std::size_t>(io_group_of_node(node));
  const auto first = tables_->nodes_by_group.begin() + tables_->first_in_group[group];
  return std::distance(
      first,
      std::lower_bound(first, tables_->nodes_by_group.begin() + tables_->first_in_group[group + 1],
                       node));
}

}  // namespace weir::topology
