// The messages between nodes as the library's ranks send or receive them: a node has a bounded
// number of slots (src/aggregation/message_slots.hpp), each of which holds one message until it has
// arrived, and takes its messages in the order of the plan. A message is under way once its node
// has a slot for it and the client at the other end has opened a buffer.
//
// No client waits for ever. Of the pieces that are not complete, consider those with the lowest
// step and turn. Their clients have written all earlier ones, and open buffers for them. Their
// nodes have slots only for earlier messages, which have arrived, and for messages of these same
// pieces, which are under way; so each gets a slot in the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <simgrid/s4u.hpp>
#include <vector>

#include "flows.hpp"

namespace weir::sim {

class Couriers {
 public:
  using Start = std::function<simgrid::s4u::CommPtr(const Client& client, const Share& share)>;

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
    std::int64_t slots = 0;                      // taken for it, before it is under way
    std::vector<std::function<void()>> arrived;  // of the buffers that wait for it
  };
  struct Node {
    std::vector<Message*> order;
    std::size_t next = 0;   // the message that takes the next slot
    std::int64_t left = 0;  // messages of all steps that have not taken a slot
    std::int64_t free = 0;
    std::map<const Client*, std::int64_t> ahead;  // slots with messages of each client
  };

  void take_slots(Node& node);
  void advance(Message& message);

  simgrid::s4u::Host* home_;
  Start start_;
  std::map<std::int64_t, Node> nodes_;
  std::map<const Client*, std::vector<Message>> messages_;  // by the client's shares
};

}  // namespace weir::sim
