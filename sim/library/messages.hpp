// Messages from rank to rank. All simulated ranks are contexts of one thread, so that what is sent
// meets in memory what is received. Only the bytes between two nodes are SimGrid's, from the time
// at which both ranks are ready, on links that they share with all other bytes. A rank therefore
// looks at a message without a call of the simulator, and is told when one of its messages has
// ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "library/simulated_rank.hpp"

namespace weir::sim {

// One rank's side of a message: what it sends, or where it receives.
struct MessageSide {
  SimulatedSystem* system = nullptr;
  std::int64_t rank = 0;            // its own, among all
  int source = 0;                   // a rank of the communicator; when awaited it may be any
  int tag = 0;                      // when awaited it may be any
  const std::byte* data = nullptr;  // to be sent
  std::byte* room = nullptr;        // for what is received
  std::size_t bytes = 0;            // of the message, or of the room for it
  // The sender does not wait for its receiver. What it sends is kept here.
  bool is_kept = false;
  std::vector<std::byte> kept;
  bool takes_time = true;  // between two nodes
  bool has_ended = false;
  // A receiver has the following once the message has ended.
  bool is_cut = false;  // the message was longer than the room
  double seconds = 0;   // that the rank spends on it
};

using MessageSidePtr = std::shared_ptr<MessageSide>;

// What was sent to a rank of a communicator, and what it awaits, in their order. What is in one
// list fits nothing in the other.
class Post {
 public:
  void send(MessageSidePtr sent);
  void receive(MessageSidePtr awaited);
  // Returns the first message that could be received now; null if there is none.
  [[nodiscard]] const MessageSide* find(int source, int tag) const;

 private:
  std::vector<MessageSidePtr> sent_;
  std::vector<MessageSidePtr> awaited_;
};

}  // namespace weir::sim
