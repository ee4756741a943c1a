// The machine of a description as SimGrid's hosts and links. Every unit of a part is a link, and a
// flow crosses the links of the units that it uses; SimGrid shares each link equally among its
// flows (max-min fairness). No link is common to all flows unless a part has one unit: such a link
// couples all flows, and the time of a simulation then grows with their square.
//
// Where flows pass no other link than one that they share with flows of the same kind, that link is
// a processor, whose work SimGrid shares in the same way. SimGrid 3 keeps all flows between hosts
// in one list and goes through it whenever one ends; work is in the list of its actor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <simgrid/s4u.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "description.hpp"
#include "flows.hpp"

namespace weir::sim {

// A flow between these two crosses certain links. Without the second one, it is work of the first
// one, which then stands for the only link of the flow.
struct Way {
  simgrid::s4u::Host* from = nullptr;
  simgrid::s4u::Host* to = nullptr;
  std::span<const std::int64_t> network_links = {};  // of these, those between switches
};

class Machine {
 public:
  // Nodes between which processes send messages themselves, or none besides what flows need.
  enum class Nodes { as_flows_need, with_processes };
  // Makes what the flows need of the description's machine, in SimGrid's only engine.
  Machine(const Description& asked, const Flows& flows, Nodes nodes);

  // Where the processes of a node live, if there are any. Messages pass the link out of one node,
  // those between switches, and the link into the other node.
  [[nodiscard]] simgrid::s4u::Host* node(std::int64_t number) const {
    return nodes_.at(static_cast<std::size_t>(number));
  }

  // Returns the part whose units do operations in turn; null if there is none.
  [[nodiscard]] const Part* part_in_turn() const {
    return in_turn_ < 0 ? nullptr : &asked_.parts[static_cast<std::size_t>(in_turn_)];
  }
  [[nodiscard]] std::ptrdiff_t number_in_turn() const { return in_turn_; }
  // Returns whether there are parts besides that one.
  [[nodiscard]] bool has_rest() const {
    return asked_.parts.size() > (part_in_turn() == nullptr ? 0U : 1U);
  }
  // Returns the unit of a part that a client uses for bytes at `place`.
  [[nodiscard]] static std::int64_t unit_of(const Part& part, const Client& client,
                                            std::int64_t place);

  // Where actors live; it has no link.
  [[nodiscard]] simgrid::s4u::Host* home() const { return home_; }
  // Returns whose turn it is for a client at the part in turn: its node's or its I/O group's.
  [[nodiscard]] std::int64_t turn_of(const Client& client) const;
  [[nodiscard]] Way way_in_turn(std::int64_t of) const;
  // The way of a client's bytes at `place` through all other parts.
  [[nodiscard]] Way way_of_rest(const Client& client, std::int64_t place) const;
  // The way of the client's messages from a source, or in a read to it: Flows::sources says what
  // `place` is. The link of a node at that end is on the way if it is a node.
  [[nodiscard]] Way way_of_messages(const Client& client, std::int64_t place) const;
  // The ways that pass nothing but a node's own link for messages.
  [[nodiscard]] Way way_into(std::int64_t node) const;
  [[nodiscard]] Way way_out_of(std::int64_t node) const;
  // The way of a rank's copies in the memory of its node, which `client` has among its copies.
  [[nodiscard]] Way way_of_copy(std::int64_t rank) const { return {copy_hosts_.at(rank), home_}; }
  // Returns the rate of all copies in the memory of a node.
  [[nodiscard]] double rate_of_copies() const { return copies_.bytes_per_second; }
  // Returns the rate of a node's own link for messages, into it and out of it.
  [[nodiscard]] double rate_of_messages(std::int64_t node) const;
  // Returns the rate of a link between switches.
  [[nodiscard]] double rate_between_switches(std::int64_t link) const;
  // Returns what the description has as slow although no flow may cross it.
  [[nodiscard]] std::vector<std::string> unused_slow() const;
  [[nodiscard]] Way way_between(std::int64_t from_group, std::int64_t to_group) const;

 private:
  using Links = std::vector<simgrid::s4u::LinkInRoute>;

  // A host by which a flow crosses a node's own links and links between switches.
  struct NetworkWay {
    simgrid::s4u::Host* host = nullptr;
    std::vector<std::int64_t> links;
  };
  using NetworkWays = std::map<std::pair<std::int64_t, std::int64_t>, NetworkWay>;

  simgrid::s4u::Link* link_of(std::size_t part, std::int64_t unit);
  // A node's own links for messages.
  simgrid::s4u::Link* link_into(std::int64_t node);
  simgrid::s4u::Link* link_out_of(std::int64_t node);
  Links links_between(std::int64_t from_node, std::int64_t to_node,
                      std::vector<std::int64_t>& numbers);
  void add_network_way(NetworkWays& ways, std::int64_t from, std::int64_t to, const Links& before,
                       std::int64_t from_node, std::int64_t to_node, const Links& behind);
  void make_messages(const Client& client);
  void make_copies(const Client& client);
  // Returns whether every message passes the link of the client's node and no other one.
  [[nodiscard]] bool messages_pass_one_link() const {
    return sources_ == Sources::none || sources_ == Sources::io_groups;
  }
  void make_message_host(std::int64_t node);
  void make_nodes();
  void make_rest_on_network(const Client& client);
  simgrid::s4u::Host* host(const std::string& name, const Links& up, const Links& down);
  void make_turn(std::int64_t of);
  void make_rest(const Client& client);
  [[nodiscard]] Links links_of_rest(const Client& client, bool at_start, std::int64_t place);
  [[nodiscard]] std::int64_t start_of(const Client& client) const;
  [[nodiscard]] std::int64_t end_of(const Client& client, std::int64_t place) const;

  const Description& asked_;
  Sources sources_;
  Copies copies_;
  std::ptrdiff_t in_turn_ = -1;
  bool rest_by_node_ = false;         // the rest of the way has a part of the node's own
  std::int64_t clients_in_turn_ = 0;  // units that clients use in turn; 0: there is no such part
  simgrid::s4u::NetZone* zone_;
  simgrid::s4u::Host* home_;
  std::map<std::pair<std::size_t, std::int64_t>, simgrid::s4u::Link*> links_;
  std::map<std::int64_t, simgrid::s4u::Host*> turn_hosts_;     // by turn_of()
  std::map<std::int64_t, simgrid::s4u::Host*> starts_;         // of the rest of the way
  std::map<std::int64_t, simgrid::s4u::Host*> ends_;           // of the rest of the way
  std::map<std::int64_t, simgrid::s4u::Host*> message_hosts_;  // by nodes
  std::map<std::int64_t, simgrid::s4u::Host*> copy_hosts_;     // by ranks
  std::map<std::int64_t, simgrid::s4u::Link*> copy_links_;     // by nodes
  std::vector<simgrid::s4u::Host*> nodes_;
  std::map<std::int64_t, simgrid::s4u::Link*> links_into_nodes_;
  std::map<std::int64_t, simgrid::s4u::Link*> links_out_of_nodes_;
  std::map<std::int64_t, simgrid::s4u::Link*> links_between_switches_;
  NetworkWays ways_of_messages_;  // by sender and receiver: nodes, or a switch and a node
  NetworkWays ways_of_rest_;      // by node and end
};

}  // namespace weir::sim
