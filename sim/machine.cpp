#include "machine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::sim {

namespace sg4 = simgrid::s4u;

Machine::Machine(const Description& asked, const Flows& flows)
    : asked_(asked), zone_(sg4::create_star_zone("machine")), home_(host("home", {}, {})) {
  for (std::size_t number = 0; number < asked.parts.size(); ++number) {
    const Part& part = asked.parts[number];
    if (part.in_turn()) {
      in_turn_ = static_cast<std::ptrdiff_t>(number);
      continue;
    }
    if (part.users == Users::node) rest_by_node_ = true;
    if (part.users == Users::client) clients_in_turn_ = std::max(clients_in_turn_, part.units);
  }
  for (const Client& client : flows.clients) {
    make_group(client.group);
    for (const Share& share : client.shares) {
      if (asked.exchange.aggregators_on_first_nodes > 0) make_group(share.place);
    }
    make_rest(client);
    if (asked.messages.bytes_per_second > 0 && message_hosts_.count(client.node) == 0) {
      const std::string name = fmt::format("messages {}", client.node);
      sg4::Link* link = zone_->create_link(name, asked.messages.bytes_per_second);
      link->seal();
      message_hosts_[client.node] = host(name, {sg4::LinkInRoute(link)}, {});
    }
  }
  zone_->seal();
}

std::int64_t Machine::unit_of(const Part& part, const Client& client, std::int64_t place) {
  switch (part.users) {
    case Users::node:
      return client.node % part.units;
    case Users::group:
      return client.group % part.units;
    case Users::client:
      return client.turn % part.units;
    case Users::stripe:
      return place % part.units;
  }
  return 0;
}

sg4::Link* Machine::link_of(std::size_t part, std::int64_t unit) {
  sg4::Link*& link = links_[{part, unit}];
  if (link == nullptr) {
    link =
        zone_->create_link(fmt::format("{} {}", part, unit), asked_.parts[part].bytes_per_second);
    link->seal();
  }
  return link;
}

sg4::Host* Machine::host(const std::string& name, const Links& up, const Links& down) {
  sg4::Host* made = zone_->create_host(name, 1e9);
  made->seal();
  zone_->add_route(made->get_netpoint(), nullptr, nullptr, nullptr, up, false);
  zone_->add_route(nullptr, made->get_netpoint(), nullptr, nullptr, down, false);
  return made;
}

void Machine::make_group(std::int64_t group) {
  if (in_turn_ < 0 || group_hosts_.count(group) > 0) return;
  const auto part = static_cast<std::size_t>(in_turn_);
  const sg4::LinkInRoute link(link_of(part, group % asked_.parts[part].units));
  group_hosts_[group] = host(fmt::format("group {}", group), {link}, {link});
}

std::int64_t Machine::start_of(const Client& client) const {
  return rest_by_node_ ? client.node : client.group;
}

std::int64_t Machine::end_of(const Client& client, std::int64_t place) const {
  return clients_in_turn_ > 0 ? client.turn % clients_in_turn_ : place;
}

void Machine::make_rest(const Client& client) {
  const auto links_of = [&](bool at_start, std::int64_t place) {
    Links links;
    for (std::size_t i = 0; i < asked_.parts.size(); ++i) {
      const Part& part = asked_.parts[i];
      const bool starts = part.users == Users::node || part.users == Users::group;
      if (part.in_turn() || starts != at_start) continue;
      links.emplace_back(link_of(i, unit_of(part, client, place)));
    }
    return links;
  };
  if (const std::int64_t start = start_of(client); starts_.count(start) == 0) {
    starts_[start] = host(fmt::format("start {}", start), links_of(true, 0), {});
  }
  const std::int64_t places = std::max<std::int64_t>(1, asked_.targets());
  for (std::int64_t place = 0; place < (clients_in_turn_ > 0 ? 1 : places); ++place) {
    const std::int64_t end = end_of(client, place);
    if (ends_.count(end) > 0) continue;
    ends_[end] = host(fmt::format("end {}", end), {}, links_of(false, place));
  }
}

Way Machine::way_in_turn(std::int64_t group) const { return {group_hosts_.at(group), home_}; }

Way Machine::way_of_rest(const Client& client, std::int64_t place) const {
  return {starts_.at(start_of(client)), ends_.at(end_of(client, place))};
}

Way Machine::way_of_messages(std::int64_t node) const { return {message_hosts_.at(node), home_}; }

Way Machine::way_between(std::int64_t from_group, std::int64_t to_group) const {
  if (from_group == to_group) return way_in_turn(from_group);
  return {group_hosts_.at(from_group), group_hosts_.at(to_group)};
}

}  // namespace weir::sim
