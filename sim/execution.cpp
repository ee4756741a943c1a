#include "execution.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <simgrid/s4u.hpp>
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
        operations_(asked, flows, Machine::Nodes::as_flows_need),
        machine_(operations_.machine()) {}

  Outcome run(sg4::Engine& engine);

 private:
  void act(const Client& client);
  Comms start_messages(const Client& client, const Operation& operation);
  Comms start_exchange(const Client& client, const Operation& operation);
  void write(const Client& client);
  void read(const Client& client);
  void begin_step();
  void wait_for_messages(Comms& messages);

  const Description& asked_;
  const Flows& flows_;
  Operations operations_;
  const Machine& machine_;
  UnitLoads message_loads_;  // by nodes
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
    operations_.add_to_part_in_turn(share.place % part->units, bytes);
    if (share.place != client.group) {
      operations_.add_to_part_in_turn(client.group % part->units, bytes);
    }
  }
  return comms;
}

Comms Execution::start_messages(const Client& client, const Operation& operation) {
  Comms comms;
  if (asked_.exchange.aggregators_on_first_nodes > 0) comms = start_exchange(client, operation);
  const double rate =
      asked_.messages.bytes_per_second * speed_of(asked_.messages.slow, client.node);
  if (operation.messages == 0 || rate <= 0) return comms;
  // What each message costs besides its bytes passes as bytes that take as long.
  const auto bytes = static_cast<double>(operation.message_bytes);
  const double more = static_cast<double>(operation.messages) * asked_.messages.seconds_each * rate;
  if (asked_.network) {
    for (const Share& share : client.sources(operation)) {
      const auto part = static_cast<double>(share.bytes);
      const Way way = machine_.way_of_messages(client.node, share.place);
      comms.push_back(start(way, part * (1 + more / bytes)));
      operations_.add_to_network_links(way, part);
    }
  } else {
    comms.push_back(start(machine_.way_of_messages(client.node, 0), bytes + more));
  }
  message_loads_.add(client.node, bytes, (bytes + more) / rate);
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
  Comms messages;
  for (std::int64_t step = 0; step < asked_.steps; ++step) {
    if (step == 0 || asked_.meeting || asked_.exchange.seconds > 0) begin_step();
    for (std::size_t i = 0; i < client.operations.size(); ++i) {
      const Operation& operation = client.operations[i];
      if (messages.empty()) messages = start_messages(client, operation);
      wait_for_messages(messages);
      const bool last = i + 1 == client.operations.size();
      // The first piece of the next step is received ahead unless all clients meet before it.
      const bool goes_on = !last || (step + 1 < asked_.steps && !asked_.meeting);
      if (asked_.ahead && goes_on) {
        messages = start_messages(client, client.operations[last ? 0 : i + 1]);
      }
      operations_.transfer(client, operation);
    }
  }
}

void Execution::read(const Client& client) {
  Comms messages;
  for (std::int64_t step = 0; step < asked_.steps; ++step) {
    if (step == 0 || asked_.meeting || asked_.exchange.seconds > 0) begin_step();
    for (const Operation& operation : client.operations) {
      operations_.transfer(client, operation);
      wait_for_messages(messages);  // of the piece before
      messages = start_messages(client, operation);
      if (!asked_.ahead) wait_for_messages(messages);
    }
    if (asked_.meeting) wait_for_messages(messages);
  }
  wait_for_messages(messages);
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
  outcome.parts = operations_.part_loads();
  outcome.parts.push_back(message_loads_.summary("messages"));
  if (asked_.network) outcome.parts.push_back(operations_.network_load());
  outcome.unused_slow = machine_.unused_slow();
  if (asked_.exchange.seconds > 0) {
    outcome.parts.push_back(
        {"exchange", 1, 0, 0, asked_.exchange.seconds * static_cast<double>(asked_.steps), "0"});
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
