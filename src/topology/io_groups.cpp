#include "topology/io_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "topology/whole_number.hpp"

namespace weir::topology {
namespace {

constexpr const char* forms =
    "give a number of nodes for each group, such as 4, or the group of every node, such as 0,0,1,1 "
    "or 0*2,1*2";

}  // namespace

Result<IoGroups::Run> IoGroups::parse_run(std::string_view text, std::size_t number) {
  if (text.empty()) return invalid_argument(fmt::format("part {} is empty: {}", number, forms));
  const std::size_t star = text.find('*');
  const auto group = whole_number(text.substr(0, star), 0, most_grouped_nodes - 1);
  if (!group) {
    return invalid_argument(
        fmt::format("the group in part {} is not a whole number from 0 to {}: "
                    "{}",
                    number, most_grouped_nodes - 1, forms));
  }
  if (star == std::string_view::npos) return Run{*group, 1};
  const auto nodes = whole_number(text.substr(star + 1), 1, most_grouped_nodes);
  if (nodes) return Run{*group, *nodes};
  return invalid_argument(
      fmt::format("the number of nodes in part {} is not a whole number from 1 "
                  "to {}: {}",
                  number, most_grouped_nodes, forms));
}

Result<IoGroups> IoGroups::parse(std::string_view text) {
  IoGroups groups;
  if (text.empty()) return groups;
  if (text.find_first_of(",*") == std::string_view::npos) {
    const auto nodes = whole_number(text, 1, most_grouped_nodes);
    if (!nodes) {
      return invalid_argument(
          fmt::format("this is not a number of nodes from 1 to {}: {}", most_grouped_nodes, forms));
    }
    return IoGroups(*nodes);
  }
  std::size_t number = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto run = parse_run(text.substr(begin, end - begin), ++number);
    if (!run) return run.error();
    const std::int64_t nodes = groups.listed_nodes_ + run.value().nodes;
    if (nodes > most_grouped_nodes) {
      return invalid_argument(fmt::format("parts 1 to {} have {} nodes: give at most {}", number,
                                          nodes, most_grouped_nodes));
    }
    groups.add(run.value());
    begin = end + 1;
  }
  if (const Status numbered = groups.check_numbers(); !numbered.ok()) return numbered.error();
  groups.shorten();
  return groups;
}

IoGroups IoGroups::of_nodes(std::span<const std::int64_t> group_of_node) {
  IoGroups groups;
  for (const std::int64_t group : group_of_node) groups.add({group, 1});
  groups.shorten();
  return groups;
}

void IoGroups::add(const Run& run) {
  listed_nodes_ += run.nodes;
  if (!runs_.empty() && runs_.back().group == run.group) {
    runs_.back().nodes += run.nodes;
  } else {
    runs_.push_back(run);
  }
}

// Every run has one group, so a number that is not below the number of runs leaves a gap.
Status IoGroups::check_numbers() const {
  std::vector<bool> is_there(runs_.size());
  std::int64_t largest = 0;
  for (const Run& run : runs_) {
    largest = std::max(largest, run.group);
    const auto group = static_cast<std::size_t>(run.group);
    if (group < is_there.size()) is_there[group] = true;
  }
  const auto gap = std::find(is_there.begin(), is_there.end(), false) - is_there.begin();
  if (gap > largest) return {};
  return invalid_argument(
      fmt::format("there is a group {} but no group {}: number the groups from 0 on without gaps",
                  largest, gap));
}

// Groups of equally many consecutive nodes need no list, which would be kept for every node. Lists
// still fit only their number of nodes.
void IoGroups::shorten() {
  const std::int64_t first = runs_.front().nodes;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const bool is_last = i + 1 == runs_.size();
    const bool is_equal = is_last ? runs_[i].nodes <= first : runs_[i].nodes == first;
    if (runs_[i].group != static_cast<std::int64_t>(i) || !is_equal) return;
  }
  nodes_per_group_ = first;
  runs_.clear();
}

Result<Topology> IoGroups::divide(const Topology& topology) const {
  if (listed_nodes_ > 0 && listed_nodes_ != topology.nodes()) {
    return invalid_argument(fmt::format(
        "io_groups lists the groups of {} node{}, but the ranks are on {}: list the group of each, "
        "in the order of the nodes' first ranks, or give a number of nodes for each group",
        listed_nodes_, listed_nodes_ == 1 ? "" : "s", topology.nodes()));
  }
  if (nodes_per_group_ > 0) return topology.with_io_groups(nodes_per_group_);
  if (runs_.empty()) return topology;
  std::vector<std::int64_t> group_of_node;
  group_of_node.reserve(static_cast<std::size_t>(listed_nodes_));
  for (const Run& run : runs_) {
    group_of_node.insert(group_of_node.end(), static_cast<std::size_t>(run.nodes), run.group);
  }
  return topology.with_io_groups(group_of_node);
}

std::string IoGroups::text() const {
  if (nodes_per_group_ > 0 && listed_nodes_ == 0) return fmt::format("{}", nodes_per_group_);
  std::string text;
  const auto add = [&](std::int64_t group, std::int64_t nodes) {
    text += fmt::format("{}{}*{}", text.empty() ? "" : ",", group, nodes);
  };
  for (const Run& run : runs_) add(run.group, run.nodes);
  if (runs_.empty()) {
    for (std::int64_t group = 0; group * nodes_per_group_ < listed_nodes_; ++group) {
      add(group, std::min(nodes_per_group_, listed_nodes_ - group * nodes_per_group_));
    }
  }
  return text;
}

std::string text_of_io_groups(const Topology& topology) {
  std::map<std::int64_t, std::int64_t, std::greater<>> groups_of_size;
  for (std::int64_t group = 0; group < topology.io_groups(); ++group) {
    ++groups_of_size[topology.nodes_in_group(group)];
  }
  constexpr std::size_t sizes_shown = 3;
  std::string sizes;
  for (const auto& [nodes, groups] : groups_of_size) {
    sizes += fmt::format("{}{} of {} node{}", sizes.empty() ? "" : ", ", groups, nodes,
                         nodes == 1 ? "" : "s");
  }
  if (groups_of_size.size() == 1) {
    const std::int64_t nodes = groups_of_size.begin()->first;
    sizes = fmt::format("of {} node{} each", nodes, nodes == 1 ? "" : "s");
  } else if (groups_of_size.size() > sizes_shown) {
    sizes = fmt::format("of {} to {} nodes", groups_of_size.rbegin()->first,
                        groups_of_size.begin()->first);
  }
  return fmt::format("{} ({})", topology.io_groups(), sizes);
}

}  // namespace weir::topology
