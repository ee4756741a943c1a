#include "machine.hpp"

#include <fmt/format.h>
#include <simgrid/version.h>

#include <algorithm>

namespace weir::sim {

namespace sg4 = simgrid::s4u;

namespace {

// Messages between the processes of a node take next to no time.
constexpr double rate_inside_nodes = 1e15;

// Zones of SimGrid 4 are made in the one that contains them; earlier ones are put into it.
#if SIMGRID_VERSION >= 40000
sg4::NetZone* make_machine_zone() {
  return sg4::Engine::get_instance()->get_netzone_root()->add_netzone_star("machine");
}
sg4::NetZone* make_nodes_zone(sg4::NetZone* machine) { return machine->add_netzone_full("nodes"); }
#else
sg4::NetZone* make_machine_zone() { return sg4::create_star_zone("machine"); }
sg4::NetZone* make_nodes_zone(sg4::NetZone* machine) {
  return sg4::create_full_zone("nodes")->set_parent(machine);
}
#endif

}  // namespace

Machine::Machine(const Description& asked, const Flows& flows, Nodes nodes)
    : asked_(asked),
      sources_(flows.sources),
      copies_(asked.copies.empty() ? Copies{} : asked.copies_of(flows.bytes / asked.ranks())),
      zone_(make_machine_zone()),
      home_(host("home", {}, {})) {
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
    if (in_turn_ >= 0) make_turn(turn_of(client));
    for (const Share& share : client.shares) {
      if (asked.exchange.aggregators_on_first_nodes > 0) make_turn(share.place);
    }
    if (asked.network) {
      make_rest_on_network(client);
    } else {
      make_rest(client);
    }
    if (nodes == Nodes::with_processes) continue;
    if (asked.messages.bytes_per_second > 0) make_messages(client);
    make_copies(client);
  }
  if (nodes == Nodes::with_processes) make_nodes();
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
    const Part& of = asked_.parts[part];
    link = zone_->create_link(fmt::format("{} {}", part, unit),
                              of.bytes_per_second * speed_of(of.slow, unit));
    link->seal();
  }
  return link;
}

double Machine::rate_of_messages(std::int64_t node) const {
  return asked_.messages.bytes_per_second * speed_of(asked_.messages.slow, node);
}

sg4::Link* Machine::link_into(std::int64_t node) {
  sg4::Link*& link = links_into_nodes_[node];
  if (link == nullptr) {
    link = zone_->create_link(fmt::format("into {}", node), rate_of_messages(node));
    link->seal();
  }
  return link;
}

sg4::Link* Machine::link_out_of(std::int64_t node) {
  sg4::Link*& link = links_out_of_nodes_[node];
  if (link == nullptr) {
    link = zone_->create_link(fmt::format("out of {}", node), rate_of_messages(node));
    link->seal();
  }
  return link;
}

double Machine::rate_between_switches(std::int64_t link) const {
  const NetworkLinks& network = *asked_.network;
  if (network.slow.empty()) return network.bytes_per_second;
  const auto slow = network.slow.find(network.shape.name_of(link));
  return network.bytes_per_second * (slow == network.slow.end() ? 1 : slow->second);
}

// Returns the links between switches from one node of the network to another, and adds their
// numbers.
Machine::Links Machine::links_between(std::int64_t from_node, std::int64_t to_node,
                                      std::vector<std::int64_t>& numbers) {
  const topology::Network& shape = asked_.network->shape;
  std::vector<std::int64_t> route;
  shape.route(from_node, to_node, route);
  Links links;
  for (const std::int64_t number : route) {
    if (shape.is_node_link(number)) continue;
    sg4::Link*& link = links_between_switches_[number];
    if (link == nullptr) {
      link = zone_->create_link(fmt::format("switches {}", number), rate_between_switches(number));
      link->seal();
    }
    links.emplace_back(link);
    numbers.push_back(number);
  }
  return links;
}

// Makes the way from one node of the network to another, with links before and behind those
// between switches.
void Machine::add_network_way(NetworkWays& ways, std::int64_t from, std::int64_t to,
                              const Links& before, std::int64_t from_node, std::int64_t to_node,
                              const Links& behind) {
  NetworkWay& way = ways[{from, to}];
  if (way.host != nullptr) return;
  Links links = before;
  const Links between = links_between(from_node, to_node, way.links);
  links.insert(links.end(), between.begin(), between.end());
  links.insert(links.end(), behind.begin(), behind.end());
  const char* what = &ways == &ways_of_rest_ ? "way" : "messages";
  way.host = host(fmt::format("{} {} {}", what, from, to), links, {});
}

void Machine::make_message_host(std::int64_t node) {
  sg4::Host*& made = message_hosts_[node];
  if (made != nullptr) return;
  const std::string name = fmt::format("messages {}", node);
  if (messages_pass_one_link()) {
    made = zone_->create_host(name, rate_of_messages(node));
    made->seal();
    return;
  }
  made = host(name, {sg4::LinkInRoute(link_out_of(node))}, {sg4::LinkInRoute(link_into(node))});
}

void Machine::make_messages(const Client& client) {
  make_message_host(client.node);
  if (messages_pass_one_link()) return;
  const Links none;
  const Links out = {sg4::LinkInRoute(link_out_of(client.node))};
  const Links into = {sg4::LinkInRoute(link_into(client.node))};
  const bool by_node = sources_ == Sources::nodes;
  for (const Operation& one : client.operations) {
    for (const Share& share : client.sources(one)) {
      const std::int64_t other = share.place;
      if (by_node) make_message_host(other);
      if (!asked_.network) continue;
      const std::int64_t node = by_node ? other : asked_.network->shape.first_node_on(other);
      if (asked_.read) {
        const Links behind = by_node ? Links{sg4::LinkInRoute(link_into(node))} : none;
        add_network_way(ways_of_messages_, client.node, other, out, client.node, node, behind);
      } else {
        const Links before = by_node ? Links{sg4::LinkInRoute(link_out_of(node))} : none;
        add_network_way(ways_of_messages_, other, client.node, before, node, client.node, into);
      }
    }
  }
}

// A copy passes a link of its rank, and the memory of the node, which is a link of all its ranks.
void Machine::make_copies(const Client& client) {
  for (const Copy& one : client.copies) {
    sg4::Host*& made = copy_hosts_[one.rank];
    if (made != nullptr) continue;
    sg4::Link*& memory = copy_links_[one.node];
    if (memory == nullptr) {
      memory = zone_->create_link(fmt::format("memory {}", one.node), copies_.bytes_per_second);
      memory->seal();
    }
    sg4::Link* const own =
        zone_->create_link(fmt::format("copies {}", one.rank), copies_.one_rank_bytes_per_second);
    own->seal();
    made = host(fmt::format("copies {}", one.rank),
                {sg4::LinkInRoute(own), sg4::LinkInRoute(memory)}, {});
  }
}

// Without a network, messages pass the links of the two nodes alone. With one, each pair of nodes
// has a route of its own.
void Machine::make_nodes() {
  sg4::NetZone* const inside = asked_.network ? make_nodes_zone(zone_) : zone_;
  for (std::int64_t number = 0; number < asked_.nodes; ++number) {
    sg4::Host* const made = inside->create_host(fmt::format("node {}", number), 1e9);
    made->seal();
    nodes_.push_back(made);
    sg4::Link* const own = inside->create_link(fmt::format("inside {}", number), rate_inside_nodes);
    own->seal();
    inside->add_route(made->get_netpoint(), made->get_netpoint(), nullptr, nullptr,
                      {sg4::LinkInRoute(own)}, false);
    if (asked_.network) continue;
    zone_->add_route(made->get_netpoint(), nullptr, nullptr, nullptr,
                     {sg4::LinkInRoute(link_out_of(number))}, false);
    zone_->add_route(nullptr, made->get_netpoint(), nullptr, nullptr,
                     {sg4::LinkInRoute(link_into(number))}, false);
  }
  if (!asked_.network) return;
  for (std::int64_t from = 0; from < asked_.nodes; ++from) {
    for (std::int64_t to = 0; to < asked_.nodes; ++to) {
      if (from == to) continue;
      std::vector<std::int64_t> numbers;
      Links links = {sg4::LinkInRoute(link_out_of(from))};
      const Links between = links_between(from, to, numbers);
      links.insert(links.end(), between.begin(), between.end());
      links.emplace_back(link_into(to));
      inside->add_route(node(from)->get_netpoint(), node(to)->get_netpoint(), nullptr, nullptr,
                        links, false);
    }
  }
  inside->seal();
}

void Machine::make_rest_on_network(const Client& client) {
  const std::int64_t ends = asked_.ends();
  const auto add = [&](std::int64_t place) {
    const std::int64_t end = end_of(client, place);
    // Without servers or stagers on the network, the way does not pass it.
    const std::int64_t to_node = ends == 0 ? client.node : *asked_.network->first_end + end % ends;
    add_network_way(ways_of_rest_, client.node, end, links_of_rest(client, true, place),
                    client.node, to_node, links_of_rest(client, false, place));
  };
  if (!has_rest()) return;
  for (const Operation& one : client.operations) {
    if (one.targets == 0) add(0);
    for (const Share& share : client.targets(one)) add(share.place);
  }
}

std::vector<std::string> Machine::unused_slow() const {
  std::vector<std::string> unused;
  for (std::size_t number = 0; number < asked_.parts.size(); ++number) {
    for (const auto& [unit, share] : asked_.parts[number].slow) {
      if (links_.count({number, unit}) > 0) continue;
      unused.push_back(fmt::format("{} {}", asked_.parts[number].name, unit));
    }
  }
  for (const auto& [node, share] : asked_.messages.slow) {
    const bool used = links_into_nodes_.count(node) > 0 || message_hosts_.count(node) > 0;
    if (!used) unused.push_back(fmt::format("node {}", node));
  }
  if (!asked_.network) return unused;
  for (const auto& [name, share] : asked_.network->slow) {
    const bool used = std::any_of(links_between_switches_.begin(), links_between_switches_.end(),
                                  [&, &slow = name](const auto& one) {
                                    return asked_.network->shape.name_of(one.first) == slow;
                                  });
    if (!used) unused.push_back("link " + name);
  }
  return unused;
}

sg4::Host* Machine::host(const std::string& name, const Links& up, const Links& down) {
  sg4::Host* made = zone_->create_host(name, 1e9);
  made->seal();
  zone_->add_route(made->get_netpoint(), nullptr, nullptr, nullptr, up, false);
  zone_->add_route(nullptr, made->get_netpoint(), nullptr, nullptr, down, false);
  return made;
}

std::int64_t Machine::turn_of(const Client& client) const {
  return part_in_turn()->users == Users::node ? client.node : client.group;
}

void Machine::make_turn(std::int64_t of) {
  if (in_turn_ < 0 || turn_hosts_.count(of) > 0) return;
  const auto part = static_cast<std::size_t>(in_turn_);
  const sg4::LinkInRoute link(link_of(part, of % asked_.parts[part].units));
  turn_hosts_[of] = host(fmt::format("turn {}", of), {link}, {link});
}

std::int64_t Machine::start_of(const Client& client) const {
  return rest_by_node_ ? client.node : client.group;
}

std::int64_t Machine::end_of(const Client& client, std::int64_t place) const {
  return clients_in_turn_ > 0 ? client.turn % clients_in_turn_ : place;
}

Machine::Links Machine::links_of_rest(const Client& client, bool at_start, std::int64_t place) {
  // Parts with the same users and as many units are passed by the same flows, so the slowest of
  // these parts is the only limit.
  std::map<std::pair<Users, std::int64_t>, sg4::Link*> slowest;
  for (std::size_t i = 0; i < asked_.parts.size(); ++i) {
    const Part& part = asked_.parts[i];
    const bool starts = part.users == Users::node || part.users == Users::group;
    if (part.in_turn() || starts != at_start) continue;
    sg4::Link* const link = link_of(i, unit_of(part, client, place));
    sg4::Link*& kept = slowest[{part.users, part.units}];
    if (kept == nullptr || link->get_bandwidth() < kept->get_bandwidth()) kept = link;
  }
  Links links;
  for (const auto& [which, link] : slowest) links.emplace_back(link);
  return links;
}

void Machine::make_rest(const Client& client) {
  if (const std::int64_t start = start_of(client); starts_.count(start) == 0) {
    starts_[start] = host(fmt::format("start {}", start), links_of_rest(client, true, 0), {});
  }
  const std::int64_t places = std::max<std::int64_t>(1, asked_.targets());
  for (std::int64_t place = 0; place < (clients_in_turn_ > 0 ? 1 : places); ++place) {
    const std::int64_t end = end_of(client, place);
    if (ends_.count(end) > 0) continue;
    ends_[end] = host(fmt::format("end {}", end), {}, links_of_rest(client, false, place));
  }
}

Way Machine::way_in_turn(std::int64_t of) const { return {turn_hosts_.at(of), home_}; }

Way Machine::way_of_rest(const Client& client, std::int64_t place) const {
  if (asked_.network) {
    const NetworkWay& way = ways_of_rest_.at({client.node, end_of(client, place)});
    return {way.host, home_, way.links};
  }
  return {starts_.at(start_of(client)), ends_.at(end_of(client, place))};
}

Way Machine::way_into(std::int64_t node) const {
  sg4::Host* const host = message_hosts_.at(node);
  return messages_pass_one_link() ? Way{.from = host} : Way{.from = home_, .to = host};
}

Way Machine::way_out_of(std::int64_t node) const {
  sg4::Host* const host = message_hosts_.at(node);
  return messages_pass_one_link() ? Way{.from = host} : Way{.from = host, .to = home_};
}

Way Machine::way_of_messages(const Client& client, std::int64_t place) const {
  const bool has_place = !messages_pass_one_link();
  const std::int64_t from = asked_.read ? client.node : place;
  const std::int64_t to = asked_.read ? place : client.node;
  if (asked_.network && has_place) {
    const NetworkWay& way = ways_of_messages_.at({from, to});
    return {way.host, home_, way.links};
  }
  if (has_place) return {message_hosts_.at(from), message_hosts_.at(to)};
  return asked_.read ? way_out_of(client.node) : way_into(client.node);
}

Way Machine::way_between(std::int64_t from_group, std::int64_t to_group) const {
  if (from_group == to_group) return way_in_turn(from_group);
  return {turn_hosts_.at(from_group), turn_hosts_.at(to_group)};
}

}  // namespace weir::sim
