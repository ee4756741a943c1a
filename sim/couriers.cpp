#include "couriers.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "plan/rank_pieces.hpp"

namespace weir::sim {

namespace sg4 = simgrid::s4u;

Couriers::Couriers(const Flows& flows, std::int64_t steps, sg4::Host* home, Start start)
    : home_(home), start_(std::move(start)) {
  // A node begins with the clients of the next node (src/plan/rank_pieces.hpp).
  struct Place {
    std::int64_t turn;
    bool is_before;  // the client's node comes before this one
    const Client* client;
    Message* message;
  };
  std::map<std::int64_t, std::vector<Place>> places;
  for (const Client& client : flows.clients) {
    std::vector<Message>& messages = messages_[&client];
    messages.resize(client.shares.size());
    for (const Operation& operation : client.operations) {
      std::size_t number = operation.first_share;
      for (const Share& share : client.sources(operation)) {
        Message& message = messages[number++];
        message.client = &client;
        message.share = &share;
        message.node = &nodes_[share.place];
        places[share.place].push_back(
            {operation.turn, client.node < share.place, &client, &message});
      }
    }
  }
  for (auto& [number, of_node] : places) {
    std::stable_sort(of_node.begin(), of_node.end(), [](const Place& a, const Place& b) {
      return std::tuple(a.turn, a.is_before, a.client->node) <
             std::tuple(b.turn, b.is_before, b.client->node);
    });
    Node& node = nodes_.at(number);
    node.order.reserve(of_node.size());
    for (const Place& one : of_node) node.order.push_back(one.message);
    node.left = std::ssize(of_node) * steps;
    node.free = flows.slots;
  }
  for (auto& [number, node] : nodes_) take_slots(node);
}

void Couriers::open(const Client& client, const Operation& operation,
                    const std::function<void()>& arrived) {
  std::vector<Message>& messages = messages_.at(&client);
  for (std::size_t i = 0; i < operation.sources; ++i) {
    Message& message = messages[operation.first_share + i];
    message.arrived.push_back(arrived);
    advance(message);
  }
}

void Couriers::take_slots(Node& node) {
  while (node.free > 0 && node.left > 0) {
    Message& message = *node.order[node.next];
    std::int64_t& ahead = node.ahead[message.client];
    if (ahead == plan::most_pieces_ahead) return;
    ++ahead;
    --node.free;
    --node.left;
    node.next = (node.next + 1) % node.order.size();
    ++message.slots;
    advance(message);
  }
}

void Couriers::advance(Message& message) {
  if (message.slots == 0 || message.arrived.empty()) return;
  --message.slots;
  sg4::Actor::create("message", home_,
                     [this, &message, arrived = message.arrived.front(),
                      under_way = start_(*message.client, *message.share)] {
                       under_way->wait();
                       ++message.node->free;
                       --message.node->ahead[message.client];
                       take_slots(*message.node);
                       arrived();
                     });
  message.arrived.erase(message.arrived.begin());
}

}  // namespace weir::sim
