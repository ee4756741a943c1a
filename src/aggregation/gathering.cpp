#include "aggregation/gathering.hpp"

#include <algorithm>
#include <utility>

#include "aggregation/payload_copy.hpp"
#include "aggregation/share_copy.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {
Ask ask_for(const plan::PieceId& id) {
  return {id.step, id.aggregator, id.array, id.unit, id.part};
}

Gathering::Gathering(const MoveContext& context, std::int64_t aggregator)
    : context_(context),
      pieces_(context.pieces->of_aggregator(aggregator)),
      buffers_(static_cast<std::size_t>(context.buffers)),
      transfer_(context) {
  find_next();
}

void Gathering::find_next() {
  plan::PieceId id;
  has_next_ = pieces_.next(id);
  if (has_next_) next_ = context_.pieces->piece(id);
}

bool Gathering::step() {
  const bool moved = open_next();
  for (auto open = open_.begin(); open != open_.end(); ++open) {
    const std::int64_t number = *open;
    Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
    if (!is_complete(number, buffer)) continue;
    context_.group.close(number);
    if (context_.writing()) transfer(number, buffer);
    buffer.busy = false;
    open_.erase(open);
    return true;
  }
  return moved;
}

bool Gathering::open_next() {
  if (!has_next_) return false;
  const std::int64_t number = context_.turns.buffer_of(next_.id);
  Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
  if (buffer.busy) return false;
  buffer.piece = std::move(next_);
  find_next();
  find_contributors(buffer);
  if (buffer.from_node == 0 && buffer.messages.empty()) return true;  // no rank holds any element
  buffer.busy = true;
  open_.push_back(number);
  if (!context_.writing()) transfer(number, buffer);
  start_messages(number, buffer);
  context_.group.open(number, context_.ticket_of(buffer.piece.id), buffer.from_node);
  return true;
}

bool Gathering::expects_messages() const {
  return std::any_of(buffers_.begin(), buffers_.end(),
                     [](const Buffer& buffer) { return buffer.busy && !buffer.messages.empty(); });
}

void Gathering::find_contributors(Buffer& buffer) {
  const plan::Plan& plan = *context_.plan;
  buffer.whole = plan.holds_everything(buffer.piece.id);
  buffer.contributors.clear();
  buffer.messages.clear();
  buffer.from_node = 0;
  if (buffer.whole && context_.group.nodes() == 1) {
    buffer.from_node = buffer.piece.bytes;
    buffer.due = buffer.piece.bytes;
    return;
  }
  context_.pieces->find_contributors(buffer.piece, buffer.contributors);
  std::int64_t all_bytes = 0;
  for (const plan::Contributor& one : buffer.contributors) all_bytes += one.bytes;
  buffer.due.reset();
  if (buffer.whole) {
    buffer.due = buffer.piece.bytes;
  } else if (context_.writing() || is_disjoint(buffer.piece)) {
    buffer.due = all_bytes;
  }
  for (const plan::Contributor& one : buffer.contributors) {
    if (context_.group.is_on_node(one.rank)) buffer.from_node += one.bytes;
  }
  std::int64_t message_bytes = 0;
  for (plan::NodeMessage& one : plan::node_messages(plan, buffer.piece.id, buffer.contributors)) {
    const std::int64_t bytes = one.bytes;
    buffer.messages.push_back({std::move(one), message_bytes});
    message_bytes += bytes;
  }
  buffer.message_data.make_room(message_bytes);
}

bool Gathering::is_disjoint(const plan::Piece& piece) const {
  return std::none_of(piece.slabs.begin(), piece.slabs.end(), [&](const plan::Slab& slab) {
    return (*context_.part_of(slab.array).part->memory)->explicit_boxes() != nullptr;
  });
}

void Gathering::start_messages(std::int64_t number, Buffer& buffer) {
  buffer.pending.clear();
  buffer.asks.clear();
  buffer.ask = ask_for(buffer.piece.id);
  for (const Message& message : buffer.messages) {
    const Status started = start_message(number, buffer, message);
    if (started.ok()) continue;
    context_.group.revocation().revoke(started.error());
    return;
  }
}

Status Gathering::start_message(std::int64_t number, Buffer& buffer, const Message& message) {
  std::byte* const start = buffer.message_data.data() + message.at;
  const std::int64_t bytes = message.of_node.bytes;
  const auto courier = static_cast<int>(message.of_node.courier);
  ranks::Pending pending;
  if (!context_.writing()) {
    copy_message(number, buffer, message);
    Status begun = ranks::send_synchronously(pending, start, bytes, courier, message_tag,
                                             context_.communicator);
    if (!begun.ok()) return begun;
    buffer.pending.add(pending);
    context_.figures.bytes_sent += bytes;
    return {};
  }
  Status begun = ranks::receive(pending, start, bytes, courier, message_tag, context_.communicator);
  if (!begun.ok()) return begun;
  buffer.pending.add(pending);
  if (context_.plan->parameters().strategy != plan::Strategy::server_directed) return {};
  Status asked =
      ranks::send(pending, buffer.ask.data(), sizeof(Ask), courier, ask_tag, context_.communicator);
  if (asked.ok()) buffer.asks.add(pending);
  return asked;
}

bool Gathering::is_complete(std::int64_t number, Buffer& buffer) {
  const auto ended = buffer.pending.test_some();
  // A courier that has answered has received its ask, so the asks end with the messages or right
  // after them.
  const auto asked = buffer.asks.test_some();
  if (!ended || !asked) {
    context_.group.revocation().revoke(!ended ? ended.error() : asked.error());
    return false;
  }
  if (context_.writing()) {
    for (const int one : ended.value()) {
      copy_message(number, buffer, buffer.messages[static_cast<std::size_t>(one)]);
    }
  }
  return buffer.pending.under_way() == 0 && buffer.asks.under_way() == 0 &&
         control(number).arrived.load(std::memory_order_acquire) == buffer.from_node;
}

void Gathering::copy_message(std::int64_t number, Buffer& buffer, const Message& message) {
  const std::int64_t began = monotonic_ns();
  for (const plan::NodeShare& share : message.of_node.shares) {
    copy_message_and_buffer(*context_.plan, buffer.piece, share.rank,
                            buffer.message_data.data() + message.at + share.offset, data(number));
  }
  context_.figures.gather_ns += monotonic_ns() - began;
}

void Gathering::transfer(std::int64_t number, const Buffer& buffer) {
  if (!status_.ok()) return;
  // A rank of the node that saw an aggregator fail has copied nothing into this buffer before
  // declaring its share as arrived, so the buffer contains data of an earlier piece. All ranks
  // learn of the failure.
  if (context_.writing() &&
      context_.group.failed_request().load(std::memory_order_relaxed) == context_.request) {
    return;
  }
  status_ = context_.writing() ? move(buffer, data(number)) : fill(buffer, data(number));
  if (status_.ok()) return;
  context_.group.failed_request().store(context_.request, std::memory_order_relaxed);
}

Status Gathering::move(const Buffer& buffer, std::byte* data) {
  return transfer_.move(buffer.piece, context_.pieces->extents(buffer.piece, buffer.contributors),
                        buffer.due, data);
}

Status Gathering::fill(const Buffer& buffer, std::byte* data) {
  using Target = array::StridedCopy::Target;
  const std::int64_t bytes = buffer.piece.bytes;
  return context_.stores.filling.run(bytes, [&](Target target) {
    if (target == Target::cached) return move(buffer, data);
    // The system stores through the caches. It therefore fills staging memory, in the caches of
    // this rank's core, from which data are copied past the caches of other cores.
    staging_.make_room(bytes);
    Status filled = move(buffer, staging_.data());
    array::StridedCopy whole;
    whole.bytes = bytes;
    copy_payload(whole, staging_.data(), data, Target::streamed);
    return filled;
  });
}

}  // namespace weir::aggregation
