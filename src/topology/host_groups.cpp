#include "topology/host_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace weir::topology {

Status HostGroups::add(std::string_view name, std::string_view hosts) {
  auto list = HostList::parse(hosts);
  if (!list) {
    return invalid_argument(
        fmt::format("the hosts of group '{}' are not a list such as n[1-4],n7: {}", name,
                    list.error().message));
  }
  hosts_ += list.value().hosts();
  if (hosts_ > HostList::most_listed_hosts) {
    return invalid_argument(
        fmt::format("there are more than {} hosts up to group '{}': leave some out",
                    HostList::most_listed_hosts, name));
  }
  groups_.push_back({std::string(name), std::move(list).value()});
  return {};
}

Status HostGroups::check_each_once() const {
  std::unordered_map<std::string, std::size_t> group_of_host;
  Status checked;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    groups_[group].hosts.each([&](const std::string& host) {
      const auto [found, is_new] = group_of_host.try_emplace(host, group);
      if (!is_new && found->second == group) {
        checked = invalid_argument(
            fmt::format("host {} is twice in group '{}': list it once", host, groups_[group].name));
      } else if (!is_new) {
        checked =
            invalid_argument(fmt::format("host {} is in group '{}' and in group '{}': list it "
                                         "in one of them",
                                         host, groups_[found->second].name, groups_[group].name));
      }
      return checked.ok();
    });
    if (!checked.ok()) break;
  }
  return checked;
}

Result<NodePlace> HostGroups::place_of(std::string_view host) const {
  for (const std::string_view name : {host, host.substr(0, host.find('.'))}) {
    const auto found = std::find_if(groups_.begin(), groups_.end(),
                                    [name](const Group& one) { return one.hosts.has(name); });
    if (found != groups_.end()) return place_named(host, found->name);
  }
  return invalid_argument(
      fmt::format("host {} is in none of the {} groups: add it to one", host, groups_.size()));
}

}  // namespace weir::topology
