#include "execution.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <simgrid/s4u.hpp>
#include <span>
#include <string>
#include <vector>

#include "machine.hpp"
#include "operations.hpp"

namespace weir::sim {
namespace {

namespace sg4 = simgrid::s4u;

// Returns the clients in the order in which they start, and thus ask for their first turns. Each
// I/O group begins with another of its clients: if all began with the first, those that share a
// place (a target, a stager) would all be there at the same time.
std::vector<const Client*> in_order(const Flows& flows) {
  std::map<std::int64_t, std::vector<const Client*>> groups;
  for (const Client& client : flows.clients) groups[client.group].push_back(&client);
  std::vector<const Client*> order;
  std::size_t number = 0;
  for (auto& [group, clients] : groups) {
    const auto first = clients.size() * number++ / groups.size();
    std::rotate(clients.begin(), clients.begin() + static_cast<std::ptrdiff_t>(first),
                clients.end());
    order.insert(order.end(), clients.begin(), clients.end());
  }
  return order;
}

class Execution {
 public:
  Execution(const Description& asked, const Flows& flows)
      : asked_(asked),
        flows_(flows),
        buffers_(asked.ahead ? flows.buffers : 1),
        operations_(asked, flows, Machine::Nodes::as_flows_need),
        machine_(operations_.machine()) {}

  Outcome run(sg4::Engine& engine);

 private:
  void act(const Client& client);
  Comms start_messages(const Client& client, const Operation& operation);
  Comms start_exchange(const Client& client, const Operation& operation);
  void add_message(const Client& client, std::int64_t place, double bytes);
  void start_costs(const Client& client, const Operation& operation, Comms& comms);
  [[nodiscard]] static const Operation& operation_at(const Client& client, std::int64_t number) {
    return client.operations[static_cast<std::size_t>(number) % client.operations.size()];
  }
  void write(const Client& client);
  void read(const Client& client);
  void begin_step();
  void wait_for_messages(Comms& messages);

  const Description& asked_;
  const Flows& flows_;
  std::int64_t buffers_;  // of a client
  Operations operations_;
  const Machine& machine_;
  sg4::BarrierPtr meeting_;
  double message_seconds_ = 0;
};

Comms Execution::start_exchange(const Client& client, const Operation& operation) {
  Comms comms;
  const Part* part = machine_.part_in_turn();
  if (part == nullptr) return comms;
  for (const Share& share : client.sources(operation)) {
    const auto bytes = static_cast<double>(share.bytes);
    comms.push_back(start(machine_.way_between(share.place, client.group), bytes));
    operations_.add_beside_turns(share.place % part->units, comms.back(), bytes);
    if (share.place != client.group) {
      operations_.add_beside_turns(client.group % part->units, comms.back(), bytes);
    }
  }
  return comms;
}

// Adds the bytes to the loads of the nodes' links that are simulated.
void Execution::add_message(const Client& client, std::int64_t place, double bytes) {
  const bool by_node = flows_.sources == Sources::nodes;
  const std::int64_t from = asked_.read ? client.node : place;
  const std::int64_t to = asked_.read ? place : client.node;
  if (by_node || asked_.read) {
    operations_.add_to_link_out_of(from, bytes, bytes / machine_.rate_of_messages(from));
  }
  if (by_node || !asked_.read) {
    operations_.add_to_link_into(to, bytes, bytes / machine_.rate_of_messages(to));
  }
}

// What each message costs besides its bytes passes the link into its receiver, as bytes that take
// as long; or the client's link, if receivers are not known.
void Execution::start_costs(const Client& client, const Operation& operation, Comms& comms) {
  const double seconds = asked_.messages.seconds_each * static_cast<double>(operation.messages);
  if (seconds <= 0) return;
  if (!asked_.read) {
    const double bytes = seconds * machine_.rate_of_messages(client.node);
    comms.push_back(start(machine_.way_into(client.node), bytes));
    operations_.add_to_link_into(client.node, 0, seconds);
  } else if (flows_.sources != Sources::nodes) {
    const double bytes = seconds * machine_.rate_of_messages(client.node);
    comms.push_back(start(machine_.way_out_of(client.node), bytes));
    operations_.add_to_link_out_of(client.node, 0, seconds);
  } else {
    const double each = seconds / operation.sources;
    for (const Share& share : client.sources(operation)) {
      const double bytes = each * machine_.rate_of_messages(share.place);
      comms.push_back(start(machine_.way_into(share.place), bytes));
      operations_.add_to_link_into(share.place, 0, each);
    }
  }
}

Comms Execution::start_messages(const Client& client, const Operation& operation) {
  Comms comms;
  const bool exchanges = flows_.sources == Sources::io_groups;
  if (exchanges) comms = start_exchange(client, operation);
  if (operation.messages == 0 || asked_.messages.bytes_per_second <= 0) return comms;
  const Share whole{0, operation.message_bytes};
  const std::span<const Share> sources = exchanges || operation.sources == 0
                                             ? std::span<const Share>(&whole, 1)
                                             : client.sources(operation);
  for (const Share& share : sources) {
    const auto bytes = static_cast<double>(share.bytes);
    const Way way = machine_.way_of_messages(client, share.place);
    comms.push_back(start(way, bytes));
    operations_.add_to_network_links(way, bytes);
    add_message(client, share.place, bytes);
  }
  start_costs(client, operation, comms);
  return comms;
}

void Execution::begin_step() {
  if (asked_.meeting) meeting_->wait();
  if (asked_.exchange.seconds > 0) sg4::this_actor::sleep_for(asked_.exchange.seconds);
}

void Execution::wait_for_messages(Comms& messages) {
  const double began = sg4::Engine::get_clock();
  wait_all(messages);
  message_seconds_ += sg4::Engine::get_clock() - began;
}

void Execution::write(const Client& client) {
  const std::int64_t count = std::ssize(client.operations);
  const bool meets = asked_.meeting || asked_.exchange.seconds > 0;
  std::deque<Comms> open;  // messages of pieces that have buffers, the next one's first
  for (std::int64_t step = 0; step < asked_.steps; ++step) {
    if (step == 0 || meets) begin_step();
    // Pieces of the next step are received ahead unless all clients meet before it.
    const std::int64_t end = (meets ? step + 1 : asked_.steps) * count;
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t next = step * count + i + std::ssize(open);
           std::ssize(open) < buffers_ && next < end; ++next) {
        open.push_back(start_messages(client, operation_at(client, next)));
      }
      wait_for_messages(open.front());
      operations_.transfer(client, operation_at(client, i));
      open.pop_front();
    }
  }
}

void Execution::read(const Client& client) {
  std::deque<Comms> open;  // messages of pieces that have buffers, the first one's first
  const auto leave_open = [&](std::int64_t most) {
    for (; std::ssize(open) > most; open.pop_front()) wait_for_messages(open.front());
  };
  for (std::int64_t step = 0; step < asked_.steps; ++step) {
    if (step == 0 || asked_.meeting || asked_.exchange.seconds > 0) begin_step();
    for (const Operation& operation : client.operations) {
      leave_open(buffers_ - 1);
      operations_.transfer(client, operation);
      open.push_back(start_messages(client, operation));
    }
    if (asked_.meeting) leave_open(0);
  }
  leave_open(0);
}

void Execution::act(const Client& client) {
  if (asked_.read) {
    read(client);
  } else {
    write(client);
  }
}

Outcome Execution::run(sg4::Engine& engine) {
  if (asked_.meeting) {
    meeting_ = sg4::Barrier::create(static_cast<unsigned int>(flows_.clients.size()));
  }
  for (const Client* client : in_order(flows_)) {
    sg4::Actor::create("client", machine_.home(), [this, client] { act(*client); });
  }
  engine.run();
  Outcome outcome;
  outcome.seconds = sg4::Engine::get_clock();
  outcome.moved = {.bytes = flows_.bytes * asked_.steps,
                   .bytes_moved = flows_.bytes_moved * asked_.steps,
                   .clients = std::ssize(flows_.clients),
                   .operations = flows_.operations * asked_.steps,
                   .calls = flows_.calls * asked_.steps,
                   .messages = flows_.messages * asked_.steps,
                   .message_bytes = flows_.message_bytes * asked_.steps};
  outcome.links_of_senders = flows_.sources == Sources::nodes;
  outcome.parts = operations_.part_loads();
  if (asked_.network) outcome.parts.push_back(operations_.network_load());
  outcome.unused_slow = machine_.unused_slow();
  if (asked_.exchange.seconds > 0) {
    UnitLoads agreeing;
    agreeing.add(0, 0, asked_.exchange.seconds * static_cast<double>(asked_.steps));
    outcome.parts.push_back(agreeing.summary("exchange", {}));
  }
  const auto clients = static_cast<double>(flows_.clients.size());
  outcome.message_seconds = message_seconds_ / clients;
  outcome.turn_seconds = operations_.turn_seconds() / clients;
  outcome.operation_seconds = operations_.operation_seconds() / clients;
  return outcome;
}

}  // namespace

std::vector<std::string> common_settings() {
  return {"weir-sim",
          "--log=root.thres:error",
          "--cfg=network/model:CM02",
          "--cfg=network/crosstraffic:0",
          "--cfg=network/TCP-gamma:0",
          "--cfg=contexts/guard-size:0"};
}

Outcome execute(const Description& asked, const Flows& flows) {
  // SimGrid may keep pointers to the words. Small stacks let a simulation have 131,072 clients.
  static std::vector<std::string> words = common_settings();
  words.emplace_back("--cfg=contexts/stack-size:32");
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(words.size());
  sg4::Engine engine(&count, pointers.data());
  Execution execution(asked, flows);
  return execution.run(engine);
}

}  // namespace weir::sim
