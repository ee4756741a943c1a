#include "library/messages.hpp"

#include <mpi.h>

#include <algorithm>
#include <simgrid/s4u.hpp>
#include <utility>

namespace weir::sim {
namespace {

// What MPI sends with each message: its sender, tag and communicator.
constexpr std::size_t envelope_bytes = 16;
// The actor of a message does little. SimGrid fills the stack with zeros.
constexpr unsigned stack_bytes = 32 << 10;

bool fits(int source, int tag, const MessageSide& sent) {
  return (source == MPI_ANY_SOURCE || source == sent.source) &&
         (tag == MPI_ANY_TAG || tag == sent.tag);
}

void end(MessageSide& side) {
  side.has_ended = true;
  if (SimulatedRank* const rank = side.system->ranks[static_cast<std::size_t>(side.rank)]) {
    tell_of_message(*rank);
  }
}

void deliver(const MessageSide& sent, MessageSide& awaited) {
  awaited.is_cut = sent.bytes > awaited.bytes;
  awaited.bytes = std::min(awaited.bytes, sent.bytes);
  // Messages of data, and no others, are not kept.
  if (sent.system->payload_is_unread && !sent.is_kept) return;
  std::copy_n(sent.data, awaited.bytes, awaited.room);
}

// Both ranks are ready.
void meet(MessageSidePtr sent, MessageSidePtr awaited) {
  awaited->source = sent->source;
  awaited->tag = sent->tag;
  const Description& asked = *sent->system->asked;
  if (sent->is_kept) awaited->seconds = asked.messages.seconds_each;
  const std::int64_t from = sent->rank / asked.ranks_per_node;
  const std::int64_t to = awaited->rank / asked.ranks_per_node;
  const auto arrive = [sent, awaited] {
    deliver(*sent, *awaited);
    if (!sent->has_ended) end(*sent);
    end(*awaited);
  };
  if (from == to || !sent->takes_time || asked.messages.bytes_per_second <= 0) {
    arrive();
    return;
  }
  const Machine& machine = sent->system->operations->machine();
  const auto actor = simgrid::s4u::Actor::init("message", machine.home());
  actor->set_stacksize(stack_bytes);
  actor->start([from = machine.node(from), to = machine.node(to), bytes = sent->bytes, arrive] {
    simgrid::s4u::Comm::sendto(from, to, bytes + envelope_bytes);
    arrive();
  });
}

}  // namespace

void Post::send(MessageSidePtr sent) {
  const auto first = std::ranges::find_if(
      awaited_, [&](const MessageSidePtr& one) { return fits(one->source, one->tag, *sent); });
  if (first == awaited_.end()) {
    sent_.push_back(std::move(sent));
    return;
  }
  MessageSidePtr awaited = std::move(*first);
  awaited_.erase(first);
  meet(std::move(sent), std::move(awaited));
}

void Post::receive(MessageSidePtr awaited) {
  const auto first = std::ranges::find_if(
      sent_, [&](const MessageSidePtr& one) { return fits(awaited->source, awaited->tag, *one); });
  if (first == sent_.end()) {
    awaited_.push_back(std::move(awaited));
    return;
  }
  MessageSidePtr sent = std::move(*first);
  sent_.erase(first);
  meet(std::move(sent), std::move(awaited));
}

const MessageSide* Post::find(int source, int tag) const {
  const auto first = std::ranges::find_if(
      sent_, [&](const MessageSidePtr& one) { return fits(source, tag, *one); });
  return first == sent_.end() ? nullptr : first->get();
}

}  // namespace weir::sim
