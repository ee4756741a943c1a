#include "execution.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>

#include "machine.hpp"

namespace weir::sim {
namespace {

namespace sg4 = simgrid::s4u;

using Comms = std::vector<sg4::CommPtr>;

// Loads of the units of one part.
struct UnitLoads {
  std::map<std::int64_t, double> bytes;
  std::map<std::int64_t, double> busy_seconds;

  void add(std::int64_t unit, double more_bytes, double more_seconds) {
    bytes[unit] += more_bytes;
    busy_seconds[unit] += more_seconds;
  }
  [[nodiscard]] PartLoad summary(const std::string& name) const {
    PartLoad load{name, static_cast<std::int64_t>(bytes.size()), 0, 0, 0, ""};
    std::int64_t busiest = -1;
    for (const auto& [unit, count] : bytes) {
      load.bytes += count;
      load.most_bytes = std::max(load.most_bytes, count);
    }
    for (const auto& [unit, seconds] : busy_seconds) {
      if (busiest >= 0 && seconds <= load.busy_seconds) continue;
      load.busy_seconds = seconds;
      busiest = unit;
    }
    if (busiest >= 0) load.busiest = std::to_string(busiest);
    return load;
  }
};

sg4::CommPtr start(const Way& way, double bytes) {
  return sg4::Comm::sendto_async(way.from, way.to, static_cast<std::uint64_t>(bytes));
}

void wait_all(Comms& comms) {
  for (sg4::CommPtr& one : comms) one->wait();
  comms.clear();
}

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
      : asked_(asked), flows_(flows), machine_(asked, flows), loads_(asked.parts.size()) {}

  Outcome run(sg4::Engine& engine);

 private:
  struct Turns {
    sg4::SemaphorePtr turn;
    sg4::SemaphorePtr places;  // of operations under way on the rest of the way; may be null
  };

  void act(const Client& client);
  [[nodiscard]] PartLoad summary_of_network() const;
  void count_network_links(const Way& way, double bytes);
  Comms start_messages(const Client& client, const Operation& operation);
  Comms start_exchange(const Client& client, const Operation& operation);
  Comms start_rest(const Client& client, const Operation& operation);
  void write(const Client& client);
  void read(const Client& client);
  void begin_step();
  void transfer(const Client& client, const Operation& operation);
  void take_turn(const Part& part, const Client& client, const Operation& operation);
  void wait_for_messages(Comms& messages);

  const Description& asked_;
  const Flows& flows_;
  Machine machine_;
  std::vector<UnitLoads> loads_;         // of the description's parts
  UnitLoads message_loads_;              // by nodes
  UnitLoads network_loads_;              // by links between switches
  std::map<std::int64_t, Turns> turns_;  // by units of the part in turn
  sg4::BarrierPtr meeting_;
  double message_seconds_ = 0;
  double turn_seconds_ = 0;
  double operation_seconds_ = 0;
};

Comms Execution::start_exchange(const Client& client, const Operation& operation) {
  Comms comms;
  const Part* part = machine_.part_in_turn();
  if (part == nullptr) return comms;
  UnitLoads& load = loads_[static_cast<std::size_t>(machine_.number_in_turn())];
  for (const Share& share : client.sources(operation)) {
    const auto bytes = static_cast<double>(share.bytes);
    comms.push_back(start(machine_.way_between(share.place, client.group), bytes));
    const auto add = [&](std::int64_t unit) {
      load.add(unit, bytes, bytes / (part->bytes_per_second * speed_of(part->slow, unit)));
    };
    add(share.place % part->units);
    if (share.place != client.group) add(client.group % part->units);
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
      count_network_links(way, part);
    }
  } else {
    comms.push_back(start(machine_.way_of_messages(client.node, 0), bytes + more));
  }
  message_loads_.add(client.node, bytes, (bytes + more) / rate);
  return comms;
}

void Execution::count_network_links(const Way& way, double bytes) {
  for (const std::int64_t link : way.network_links) {
    network_loads_.add(link, bytes, bytes / machine_.rate_between_switches(link));
  }
}

PartLoad Execution::summary_of_network() const {
  PartLoad load = network_loads_.summary("links between switches");
  if (!load.busiest.empty()) {
    load.busiest = asked_.network->shape.name_of(std::stoll(load.busiest));
  }
  return load;
}

Comms Execution::start_rest(const Client& client, const Operation& operation) {
  Comms comms;
  if (!machine_.has_rest()) return comms;
  const Share whole{0, operation.bytes};
  const std::span<const Share> shares =
      operation.targets > 0 ? client.targets(operation) : std::span<const Share>(&whole, 1);
  for (const Share& share : shares) {
    const auto bytes = static_cast<double>(share.bytes);
    const Way way = machine_.way_of_rest(client, share.place);
    comms.push_back(start(way, bytes));
    count_network_links(way, bytes);
    for (std::size_t i = 0; i < asked_.parts.size(); ++i) {
      const Part& part = asked_.parts[i];
      if (part.in_turn()) continue;
      const std::int64_t unit = Machine::unit_of(part, client, share.place);
      loads_[i].add(unit, bytes, bytes / (part.bytes_per_second * speed_of(part.slow, unit)));
    }
  }
  return comms;
}

void Execution::take_turn(const Part& part, const Client& client, const Operation& operation) {
  const auto bytes = static_cast<double>(operation.bytes);
  const std::int64_t unit = machine_.turn_of(client) % part.units;
  const double began = sg4::Engine::get_clock();
  const sg4::CommPtr flow = start(machine_.way_in_turn(machine_.turn_of(client)), bytes);
  double seconds = static_cast<double>(operation.calls) * part.operation_seconds;
  if (part.copy_bytes_per_second > 0) seconds += bytes / part.copy_bytes_per_second;
  sg4::this_actor::sleep_for(seconds / speed_of(part.slow, unit));
  flow->wait();
  loads_[static_cast<std::size_t>(machine_.number_in_turn())].add(unit, bytes,
                                                                  sg4::Engine::get_clock() - began);
}

void Execution::transfer(const Client& client, const Operation& operation) {
  const double asked_at = sg4::Engine::get_clock();
  const Part* part = machine_.part_in_turn();
  const Turns* turns =
      part == nullptr ? nullptr : &turns_.at(machine_.turn_of(client) % part->units);
  if (turns != nullptr) {
    if (turns->places) turns->places->acquire();
    turns->turn->acquire();
  }
  const double began = sg4::Engine::get_clock();
  Comms rest = start_rest(client, operation);
  if (turns != nullptr) {
    take_turn(*part, client, operation);
    turns->turn->release();
  }
  wait_all(rest);
  if (turns != nullptr && turns->places) turns->places->release();
  turn_seconds_ += began - asked_at;
  operation_seconds_ += sg4::Engine::get_clock() - began;
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
      transfer(client, operation);
    }
  }
}

void Execution::read(const Client& client) {
  Comms messages;
  for (std::int64_t step = 0; step < asked_.steps; ++step) {
    if (step == 0 || asked_.meeting || asked_.exchange.seconds > 0) begin_step();
    for (const Operation& operation : client.operations) {
      transfer(client, operation);
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
  const Part* part = machine_.part_in_turn();
  for (const Client& client : flows_.clients) {
    if (part == nullptr) break;
    Turns& turns = turns_[machine_.turn_of(client) % part->units];
    if (turns.turn) continue;
    turns.turn = sg4::Semaphore::create(1);
    const auto at_once = static_cast<unsigned int>(part->operations_at_once);
    if (at_once > 0) turns.places = sg4::Semaphore::create(at_once);
  }
  if (asked_.meeting) {
    meeting_ = sg4::Barrier::create(static_cast<unsigned int>(flows_.clients.size()));
  }
  for (const Client* client : in_order(flows_)) {
    sg4::Actor::create("client", machine_.home(), [this, client] { act(*client); });
  }
  engine.run();
  Outcome outcome;
  outcome.seconds = sg4::Engine::get_clock();
  for (std::size_t i = 0; i < asked_.parts.size(); ++i) {
    outcome.parts.push_back(loads_[i].summary(asked_.parts[i].name));
  }
  outcome.parts.push_back(message_loads_.summary("messages"));
  if (asked_.network) outcome.parts.push_back(summary_of_network());
  outcome.unused_slow = machine_.unused_slow();
  if (asked_.exchange.seconds > 0) {
    outcome.parts.push_back(
        {"exchange", 1, 0, 0, asked_.exchange.seconds * static_cast<double>(asked_.steps), "0"});
  }
  const auto clients = static_cast<double>(flows_.clients.size());
  outcome.message_seconds = message_seconds_ / clients;
  outcome.turn_seconds = turn_seconds_ / clients;
  outcome.operation_seconds = operation_seconds_ / clients;
  return outcome;
}

}  // namespace

Outcome execute(const Description& asked, const Flows& flows) {
  // The network model is plain max-min sharing without corrections for TCP. Small stacks let a
  // simulation have 131,072 clients.
  static std::array<std::string, 7> words = {"weir-sim",
                                             "--log=root.thres:error",
                                             "--cfg=network/model:CM02",
                                             "--cfg=network/crosstraffic:0",
                                             "--cfg=network/TCP-gamma:0",
                                             "--cfg=contexts/stack-size:32",
                                             "--cfg=contexts/guard-size:0"};
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
