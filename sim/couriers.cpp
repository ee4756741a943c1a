#include "couriers.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "plan/rank_pieces.hpp"

namespace weir::sim {

namespace sg4 = simgrid::s4u;

Couriers::Couriers(const Flows& flows, std::int64_t steps, sg4::Host* home, Start start)
    : steps_(steps), home_(home), start_(std::move(start)) {
  for (const Client& client : flows.clients) {
    std::vector<Message>& messages = messages_[&client];
    messages.resize(client.shares.size());
    for (const Operation& operation : client.operations) {
      std::size_t number = operation.first_share;
      for (const Share& share : client.sources(operation)) {
        Node& node = nodes_[share.place];
        Message& message = messages[number++];
        message.node = &node;
        message.client = &client;
        message.share = &share;
        message.turn = operation.turn;
        node.messages.push_back(&message);
      }
    }
  }
  for (auto& [number, node] : nodes_) {
    put_in_order(number, node);
    node.free = flows.slots;
    while (take_slot(node)) {
    }
  }
}

void Couriers::put_in_order(std::int64_t number, Node& node) const {
  // A node begins with the clients of the next node (src/plan/rank_pieces.hpp).
  const auto turn = [number = number](const Message* one) {
    return std::tuple(one->turn, one->client->node < number, one->client->node);
  };
  std::stable_sort(node.messages.begin(), node.messages.end(),
                   [&](const Message* a, const Message* b) { return turn(a) < turn(b); });
  std::int64_t place = 0;
  for (Message* const one : node.messages) {
    one->place = place++;
    node.ranks[one->share->rank].messages.push_back(one);
  }
  for (auto& [rank, queue] : node.ranks) wait_for_slot(node, queue);
}

void Couriers::wait_for_slot(Node& node, Queue& rank) const {
  if (rank.step() < steps_) node.waiting.emplace(std::pair(rank.step(), rank.first().place), &rank);
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

bool Couriers::take_slot(Node& node) {
  std::int64_t earlier = 0;
  for (auto one = node.waiting.begin(); one != node.waiting.end() && earlier < node.free;
       ++one, ++earlier) {
    Queue& rank = *one->second;
    Message& message = rank.first();
    std::int64_t& ahead = node.ahead[message.client];
    const std::int64_t left = plan::most_pieces_ahead - ahead;
    const bool is_last = node.free == 1 || left == 1;
    if (left == 0 || (is_last && earlier > 0)) continue;
    node.waiting.erase(one);
    ++rank.next;
    wait_for_slot(node, rank);
    ++ahead;
    --node.free;
    ++message.slots;
    advance(message);
    return true;
  }
  return false;
}

void Couriers::advance(Message& message) {
  if (message.slots == 0 || message.arrived.empty()) return;
  --message.slots;
  const auto wait = [this, &message, arrived = message.arrived.front(),
                     under_way = start_(*message.client, *message.share)] {
    under_way->wait();
    Node& node = *message.node;
    ++node.free;
    --node.ahead[message.client];
    while (take_slot(node)) {
    }
    arrived();
  };
  message.arrived.erase(message.arrived.begin());
  sg4::Actor::create("message", home_, wait);
}

}  // namespace weir::sim
