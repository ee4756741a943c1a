// The I/O groups of a job's nodes as a user gives them, before the nodes are known.
//
//     text            I/O groups
//     ""              one, of all nodes
//     "4"             4 consecutive nodes each; the last one may have fewer
//     "0,0,1,0"       the group of node 0, of node 1 and so on
//     "0*64,1*32"     the same, with the number of consecutive nodes of the same group
//
// Nodes are numbered from 0 in the order of their first ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "topology/topology.hpp"

namespace weir::topology {

class IoGroups {
 public:
  // The largest number of nodes, of one group and of all.
  static constexpr std::int64_t most_grouped_nodes = INT32_MAX;

  IoGroups() = default;  // one group
  // Groups of so many consecutive nodes each; one group if the number is 0.
  explicit IoGroups(std::int64_t nodes_per_group) : nodes_per_group_(nodes_per_group) {}
  // Returns the groups of a list with the group of each node: 0, 1 and so on without gaps, and at
  // least one node.
  static IoGroups of_nodes(std::span<const std::int64_t> group_of_node);
  // Fails if the text has none of the forms above, or if the groups that it names are not 0, 1 and
  // so on without gaps. The error does not repeat the text.
  static Result<IoGroups> parse(std::string_view text);

  // Returns the topology with its nodes divided into these groups. Fails if a list is for another
  // number of nodes.
  [[nodiscard]] Result<Topology> divide(const Topology& topology) const;
  // Returns whether the group of every node is given, so that divide() needs as many nodes.
  [[nodiscard]] bool is_list() const { return listed_nodes_ > 0; }
  // Returns the shortest text that parse() takes for these groups.
  [[nodiscard]] std::string text() const;

 private:
  // Consecutive nodes of one group.
  struct Run {
    std::int64_t group = 0;
    std::int64_t nodes = 0;
  };
  static Result<Run> parse_run(std::string_view text, std::size_t number);
  [[nodiscard]] Status check_numbers() const;
  void add(const Run& run);
  void shorten();

  std::int64_t nodes_per_group_ = 0;  // 0: one group, or as `runs_` say
  std::int64_t listed_nodes_ = 0;     // 0: no list was given
  std::vector<Run> runs_;             // neighbours have different groups
};

// Returns the number of I/O groups and of the nodes in them, such as "3 (2 of 4 nodes, 1 of 1)".
[[nodiscard]] std::string text_of_io_groups(const Topology& topology);

}  // namespace weir::topology
