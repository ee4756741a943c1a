// The messages between nodes as the library's ranks send or receive them. A node has a bounded
// number of slots (src/aggregation/message_slots.hpp), each of which holds one message until it has
// arrived. The message is under way once it has a slot and the client at the other end has opened a
// buffer.
//
// A rank takes a slot for its first message in the order of the plan, and then for its next one. As
// in the library, a message leaves as many free slots as there are earlier messages for which ranks
// wait, and the last free slot of a node, and the last one that a client may have of it, are only
// for the earliest message that has none. That no client waits for ever is proved there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

#include "flows.hpp"

namespace weir::sim {

class Couriers {
 public:
  using Start = std::function<simgrid::s4u::ActivityPtr(const Client& client, const Share& share)>;

  // Actors that wait for a message live on `home`; `start` begins one. The sources of the flows are
  // nodes.
  Couriers(const Flows& flows, std::int64_t steps, simgrid::s4u::Host* home, Start start);
  Couriers(const Couriers&) = delete;
  Couriers& operator=(const Couriers&) = delete;
  ~Couriers() = default;

  // Called when a client has opened a buffer for an operation: calls `arrived` after each of its
  // messages. A client opens buffers for its operations in their order, step after step.
  void open(const Client& client, const Operation& operation, const std::function<void()>& arrived);

 private:
  struct Node;
  // One message of each step.
  struct Message {
    Node* node = nullptr;
    const Client* client = nullptr;
    const Share* share = nullptr;
    std::int64_t turn = 0;                       // of plan::BufferTurns
    std::int64_t place = 0;                      // in the order of the node
    std::int64_t slots = 0;                      // those that wait for a buffer
    std::vector<std::function<void()>> arrived;  // of the buffers that wait for a slot
  };
  // A rank's messages of each step in the order of the node, and how many have slots.
  struct Queue {
    std::vector<Message*> messages;
    std::int64_t next = 0;  // over all steps

    [[nodiscard]] Message& first() const {
      return *messages[static_cast<std::size_t>(next % std::ssize(messages))];
    }
    [[nodiscard]] std::int64_t step() const { return next / std::ssize(messages); }
  };
  struct Node {
    std::vector<Message*> messages;
    std::map<std::int64_t, Queue> ranks;
    // Ranks that wait for a slot, by step and place of their first message.
    std::map<std::pair<std::int64_t, std::int64_t>, Queue*> waiting;
    std::int64_t free = 0;
    std::map<const Client*, std::int64_t> ahead;  // slots with messages of each client
  };

  void put_in_order(std::int64_t number, Node& node) const;
  void wait_for_slot(Node& node, Queue& rank) const;
  // Returns whether a rank has taken a slot.
  bool take_slot(Node& node);
  void advance(Message& message);

  std::int64_t steps_;
  simgrid::s4u::Host* home_;
  Start start_;
  std::map<std::int64_t, Node> nodes_;
  std::map<const Client*, std::vector<Message>> messages_;  // by the client's shares
};

}  // namespace weir::sim
