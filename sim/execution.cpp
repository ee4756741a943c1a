#include "execution.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <simgrid/s4u.hpp>
#include <span>
#include <string>
#include <vector>

#include "couriers.hpp"
#include "machine.hpp"
#include "operations.hpp"
#include "plan/buffer_turns.hpp"

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

// The buffers of a client. One is open while its messages are under way.
struct Buffers {
  struct Open {
    std::int64_t number;  // of the operation, over all steps
    std::int64_t buffer;
    std::int64_t left = 0;     // what is under way to it
    Activities messages = {};  // without couriers
  };

  explicit Buffers(std::int64_t count) : busy(static_cast<std::size_t>(count)) {}
  [[nodiscard]] bool is_free(std::int64_t buffer) const {
    return !busy[static_cast<std::size_t>(buffer)];
  }
  std::list<Open>::iterator close(std::list<Open>::iterator one) {
    busy[static_cast<std::size_t>(one->buffer)] = false;
    return open.erase(one);
  }

  std::vector<bool> busy;
  std::list<Open> open;  // in the order in which they were opened
  sg4::SemaphorePtr completed = sg4::Semaphore::create(0);
};

class Execution {
 public:
  Execution(const Description& asked, const Flows& flows)
      : asked_(asked),
        flows_(flows),
        buffers_(asked.ahead ? flows.buffers : 1),
        operations_(asked, flows, Machine::Nodes::as_flows_need),
        machine_(operations_.machine()) {
    if (!asked.ahead || flows.sources != Sources::nodes || flows.message_bytes == 0 ||
        asked.messages.bytes_per_second <= 0) {
      return;
    }
    couriers_.emplace(
        flows, asked.steps, machine_.home(),
        [this](const Client& client, const Share& share) { return start_message(client, share); });
  }

  Outcome run(sg4::Engine& engine);

 private:
  void act(const Client& client);
  sg4::ActivityPtr start_message(const Client& client, const Share& share);
  Activities start_messages(const Client& client, const Operation& operation);
  Activities start_exchange(const Client& client, const Operation& operation);
  Activities start_gathering(const Client& client, const Operation& operation);
  void add_message(const Client& client, std::int64_t place, double bytes);
  void start_costs(const Client& client, const Operation& operation, Activities& activities);
  [[nodiscard]] static const Operation& operation_at(const Client& client, std::int64_t number) {
    return client.operations[static_cast<std::size_t>(number) % client.operations.size()];
  }
  void write(const Client& client);
  void read(const Client& client);
  void begin_step();
  // Opens the buffer of an operation, whose messages begin.
  void open(Buffers& buffers, const Client& client, std::int64_t number);
  // Waits, with no open buffer complete, until one is: without couriers the first.
  void wait(Buffers& buffers);
  // Returns the number of the client's buffer that an operation passes.
  [[nodiscard]] std::int64_t buffer_of(const Client& client, std::int64_t number) const;

  const Description& asked_;
  const Flows& flows_;
  std::int64_t buffers_;  // of a client
  Operations operations_;
  const Machine& machine_;
  std::optional<Couriers> couriers_;  // nothing: all messages of a piece start together
  sg4::BarrierPtr meeting_;
  double message_seconds_ = 0;
};

Activities Execution::start_exchange(const Client& client, const Operation& operation) {
  Activities activities;
  const Part* part = machine_.part_in_turn();
  if (part == nullptr) return activities;
  for (const Share& share : client.sources(operation)) {
    const auto bytes = static_cast<double>(share.bytes);
    activities.push_back(start(machine_.way_between(share.place, client.group), bytes));
    operations_.add_beside_turns(share.place % part->units, activities.back(), bytes);
    if (share.place != client.group) {
      operations_.add_beside_turns(client.group % part->units, activities.back(), bytes);
    }
  }
  return activities;
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
void Execution::start_costs(const Client& client, const Operation& operation,
                            Activities& activities) {
  const double seconds = asked_.messages.seconds_each * static_cast<double>(operation.messages);
  if (seconds <= 0) return;
  if (!asked_.read) {
    const double bytes = seconds * machine_.rate_of_messages(client.node);
    activities.push_back(start(machine_.way_into(client.node), bytes));
    operations_.add_to_link_into(client.node, 0, seconds);
  } else if (flows_.sources != Sources::nodes) {
    const double bytes = seconds * machine_.rate_of_messages(client.node);
    activities.push_back(start(machine_.way_out_of(client.node), bytes));
    operations_.add_to_link_out_of(client.node, 0, seconds);
  } else {
    const double each = seconds / operation.sources;
    for (const Share& share : client.sources(operation)) {
      const double bytes = each * machine_.rate_of_messages(share.place);
      activities.push_back(start(machine_.way_into(share.place), bytes));
      operations_.add_to_link_into(share.place, 0, each);
    }
  }
}

sg4::ActivityPtr Execution::start_message(const Client& client, const Share& share) {
  const auto bytes = static_cast<double>(share.bytes);
  const Way way = machine_.way_of_messages(client, share.place);
  operations_.add_to_network_links(way, bytes);
  add_message(client, share.place, bytes);
  return start(way, bytes);
}

// Starts those messages of an operation that do not wait for slots, and what all of them cost.
Activities Execution::start_messages(const Client& client, const Operation& operation) {
  Activities activities;
  const bool exchanges = flows_.sources == Sources::io_groups;
  if (exchanges) activities = start_exchange(client, operation);
  if (operation.messages == 0 || asked_.messages.bytes_per_second <= 0) return activities;
  const Share whole{0, operation.message_bytes};
  const std::span<const Share> sources = exchanges || operation.sources == 0
                                             ? std::span<const Share>(&whole, 1)
                                             : client.sources(operation);
  if (!couriers_) {
    for (const Share& share : sources) activities.push_back(start_message(client, share));
  }
  start_costs(client, operation, activities);
  return activities;
}

// Starts the messages and the copies of a piece, which pass at the same time.
Activities Execution::start_gathering(const Client& client, const Operation& operation) {
  Activities activities = start_messages(client, operation);
  for (const Copy& one : client.copies_of(operation)) {
    const auto bytes = static_cast<double>(one.bytes);
    activities.push_back(start(machine_.way_of_copy(one.rank), bytes));
    operations_.add_to_copies(one.node, bytes, bytes / machine_.rate_of_copies());
  }
  return activities;
}

void Execution::begin_step() {
  if (asked_.meeting) meeting_->wait();
  if (asked_.exchange.seconds > 0) sg4::this_actor::sleep_for(asked_.exchange.seconds);
}

std::int64_t Execution::buffer_of(const Client& client, std::int64_t number) const {
  const std::int64_t count = std::ssize(client.operations);
  const plan::BufferTurns turns(client.operations.back().turn + 1, buffers_);
  return turns.buffer_of({.step = number / count, .part = operation_at(client, number).turn});
}

void Execution::open(Buffers& buffers, const Client& client, std::int64_t number) {
  const std::int64_t buffer = buffer_of(client, number);
  buffers.busy[static_cast<std::size_t>(buffer)] = true;
  Buffers::Open& opened =
      buffers.open.emplace_back(Buffers::Open{.number = number, .buffer = buffer});
  const Operation& operation = operation_at(client, number);
  Activities messages = start_gathering(client, operation);
  if (!couriers_) {
    // An actor for each of very many pieces would take too much memory.
    opened.left = std::ssize(messages);
    opened.messages = std::move(messages);
    return;
  }
  const auto arrived = [&opened, completed = buffers.completed] {
    if (--opened.left == 0) completed->release();
  };
  opened.left = operation.sources;
  if (!messages.empty()) {
    ++opened.left;
    sg4::Actor::create("messages", machine_.home(), [arrived, messages]() mutable {
      wait_all(messages);
      arrived();
    });
  }
  couriers_->open(client, operation, arrived);
}

void Execution::wait(Buffers& buffers) {
  const double began = sg4::Engine::get_clock();
  if (couriers_) {
    buffers.completed->acquire();
  } else {
    Buffers::Open& first = buffers.open.front();
    wait_all(first.messages);
    first.left = 0;
  }
  message_seconds_ += sg4::Engine::get_clock() - began;
}

// The library's aggregator (src/aggregation/gathering.cpp): it opens one buffer, writes the first
// complete piece, and begins again.
void Execution::write(const Client& client) {
  const std::int64_t count = std::ssize(client.operations);
  // Pieces of the next step are received ahead unless all clients meet before it.
  const bool meets = asked_.meeting || asked_.exchange.seconds > 0;
  Buffers buffers(buffers_);
  for (std::int64_t step = 0; step < asked_.steps; step += meets ? 1 : asked_.steps) {
    begin_step();
    std::int64_t next = step * count;
    const std::int64_t end = (meets ? step + 1 : asked_.steps) * count;
    while (next < end || !buffers.open.empty()) {
      const bool opens = next < end && buffers.is_free(buffer_of(client, next));
      if (opens) {
        open(buffers, client, next);
        ++next;
      }
      const auto complete = std::find_if(buffers.open.begin(), buffers.open.end(),
                                         [](const auto& one) { return one.left == 0; });
      if (complete != buffers.open.end()) {
        operations_.transfer(client, operation_at(client, complete->number));
        buffers.close(complete);
      } else if (!opens) {
        wait(buffers);
      }
    }
  }
}

void Execution::read(const Client& client) {
  const std::int64_t count = std::ssize(client.operations);
  Buffers buffers(buffers_);
  const auto close_complete = [&] {
    for (auto one = buffers.open.begin(); one != buffers.open.end();) {
      one = one->left == 0 ? buffers.close(one) : std::next(one);
    }
  };
  const auto leave_open = [&](std::int64_t most) {
    for (close_complete(); std::ssize(buffers.open) > most; close_complete()) wait(buffers);
  };
  for (std::int64_t step = 0; step < asked_.steps; ++step) {
    if (step == 0 || asked_.meeting || asked_.exchange.seconds > 0) begin_step();
    for (std::int64_t number = step * count; number < (step + 1) * count; ++number) {
      for (close_complete(); !buffers.is_free(buffer_of(client, number)); close_complete()) {
        wait(buffers);
      }
      operations_.transfer(client, operation_at(client, number));
      open(buffers, client, number);
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
    const bool exchanges = asked_.exchange.aggregators_on_first_nodes > 0;
    UnitLoads agreeing;
    agreeing.add(0, 0, asked_.exchange.seconds * static_cast<double>(asked_.steps));
    outcome.parts.push_back(agreeing.summary(exchanges ? "exchange" : "calls", {}));
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
