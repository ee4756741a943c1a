// The I/O groups of a machine by the names of hosts, as a description has them
// (topology.network.groups), before a job's nodes are known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "topology/host_list.hpp"
#include "topology/node_place.hpp"

namespace weir::topology {

class HostGroups {
 public:
  // Fails if the hosts of a group are not a list (topology/host_list.hpp), or if all groups
  // together have more hosts than a list may have.
  [[nodiscard]] Status add(std::string_view name, std::string_view hosts);
  // Fails if a host is in two groups, or twice in one, and names it. Needs memory for all names, so
  // that one rank should do it for all.
  [[nodiscard]] Status check_each_once() const;
  // Returns the place of a host in its group. A host that is not listed by its whole name is looked
  // for by the part before the first dot. Fails if no group has it.
  [[nodiscard]] Result<NodePlace> place_of(std::string_view host) const;

 private:
  struct Group {
    std::string name;
    HostList hosts;
  };
  std::vector<Group> groups_;
  std::int64_t hosts_ = 0;
};

}  // namespace weir::topology
