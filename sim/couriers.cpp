#include "couriers.hpp"

#include <algorithm>
#include <random>
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
        node.all.messages.push_back(&message);
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

void Couriers::put_in_order(std::int64_t number, Node& node) {
  // A node begins with the clients of the next node (src/plan/rank_pieces.hpp).
  const auto place = [number = number](const Message* one) {
    return std::tuple(one->turn, one->client->node < number, one->client->node);
  };
  std::stable_sort(node.all.messages.begin(), node.all.messages.end(),
                   [&](const Message* a, const Message* b) { return place(a) < place(b); });
  std::map<std::int64_t, Queue> ranks;
  for (Message* const one : node.all.messages) ranks[one->share->rank].messages.push_back(one);
  for (auto& [rank, queue] : ranks) node.ranks.push_back(std::move(queue));
  // Which rank comes first is a matter of chance, and here always the same.
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  for (std::size_t left = node.ranks.size(); left > 1; --left) {
    std::swap(node.ranks[left - 1], node.ranks[random() % left]);
  }
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
  if (node.free == 0) return false;
  const auto is_left = [&](const Queue& queue) {
    return queue.next < std::ssize(queue.messages) * steps_;
  };
  // Messages of the order of all that have slots already.
  while (is_left(node.all) &&
         node.all.first().slots_taken > node.all.next / std::ssize(node.all.messages)) {
    ++node.all.next;
  }
  if (!is_left(node.all)) return false;
  const Message* const earliest = &node.all.first();
  for (std::size_t asked = 0; asked < node.ranks.size(); ++asked) {
    Queue& rank = node.ranks[node.asks];
    node.asks = (node.asks + 1) % node.ranks.size();
    if (!is_left(rank)) continue;
    Message& message = rank.first();
    std::int64_t& ahead = node.ahead[message.client];
    const std::int64_t left = plan::most_pieces_ahead - ahead;
    if (left == 0 || ((node.free == 1 || left == 1) && &message != earliest)) continue;
    ++rank.next;
    ++ahead;
    --node.free;
    ++message.slots_taken;
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
