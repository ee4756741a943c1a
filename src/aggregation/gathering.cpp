#include "aggregation/gathering.hpp"

#include <algorithm>
#include <utility>

#include "aggregation/share_copy.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {

Ask ask_for(const plan::PieceId& id) {
  return {id.step, id.aggregator, id.array, id.unit, id.part};
}

plan::PieceId asked_for(const Ask& ask) {
  return {ask[0], ask[1], static_cast<int>(ask[2]), ask[3], ask[4]};
}

Gathering::Gathering(const MoveContext& context, std::int64_t aggregator)
    : context_(context),
      pieces_(context.plan, aggregator),
      buffers_(static_cast<std::size_t>(context.buffers)),
      transfer_(context) {
  find_next();
}

bool Gathering::step() {
  const bool moved = open_next();
  for (std::int64_t number = 0; number < context_.buffers && busy_ > 0; ++number) {
    Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
    if (!buffer.busy || !is_complete(number, buffer)) continue;
    if (context_.writing()) transfer(number, buffer);
    buffer.busy = false;
    --busy_;
    return true;
  }
  return moved;
}

bool Gathering::open_next() {
  if (!has_next_) return false;
  const std::int64_t number = context_.buffer_of(next_.id);
  Buffer& buffer = buffers_[static_cast<std::size_t>(number)];
  if (buffer.busy) return false;
  buffer.piece = std::move(next_);
  find_next();
  find_contributors(buffer);
  if (buffer.from_node == 0 && buffer.messages.empty()) return true;  // nobody holds anything
  buffer.busy = true;
  ++busy_;
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
  buffer.in_bundle = plan.bundle(buffer.piece.id.array) != nullptr;
  buffer.contributors.clear();
  buffer.messages.clear();
  buffer.from_node = 0;
  if (buffer.whole && context_.group.nodes() == 1) {
    buffer.from_node = buffer.piece.bytes;
    return;
  }
  buffer.contributors = buffer.in_bundle ? context_.bundles->contributors(buffer.piece)
                                         : plan.contributors(buffer.piece);
  std::int64_t message_bytes = 0;
  for (const plan::Contributor& one : buffer.contributors) {
    if (context_.group.is_on_node(one.rank)) {
      buffer.from_node += one.bytes;
    } else {
      buffer.messages.push_back({one.rank, one.bytes, message_bytes, false});
      message_bytes += one.bytes;
    }
  }
  if (buffer.message_data.size() < static_cast<std::size_t>(message_bytes)) {
    buffer.message_data.resize(static_cast<std::size_t>(message_bytes));
  }
}

void Gathering::start_messages(std::int64_t number, Buffer& buffer) {
  const bool asking = context_.plan->parameters().strategy == plan::Strategy::server_directed;
  buffer.requests.assign(buffer.messages.size(), MPI_REQUEST_NULL);
  buffer.asks.assign(asking ? buffer.messages.size() : 0, MPI_REQUEST_NULL);
  buffer.ask = ask_for(buffer.piece.id);
  for (std::size_t i = 0; i < buffer.messages.size(); ++i) {
    const Message& message = buffer.messages[i];
    std::byte* const start = buffer.message_data.data() + message.at;
    const auto count = static_cast<int>(message.bytes);
    const auto peer = static_cast<int>(message.rank);
    if (context_.writing()) {
      MPI_Irecv(start, count, MPI_BYTE, peer, message_tag, context_.communicator,
                &buffer.requests[i]);
    }
    if (asking) {
      MPI_Isend(buffer.ask.data(), static_cast<int>(buffer.ask.size()), MPI_INT64_T, peer, ask_tag,
                context_.communicator, &buffer.asks[i]);
    }
    if (!context_.writing()) {
      copy_message(number, buffer, message);
      MPI_Isend(start, count, MPI_BYTE, peer, message_tag, context_.communicator,
                &buffer.requests[i]);
      context_.figures.bytes_sent += message.bytes;
    }
  }
}

bool Gathering::is_complete(std::int64_t number, Buffer& buffer) {
  bool complete = true;
  for (std::size_t i = 0; i < buffer.messages.size(); ++i) {
    Message& message = buffer.messages[i];
    if (message.done) continue;
    int arrived = 0;
    MPI_Test(&buffer.requests[i], &arrived, MPI_STATUS_IGNORE);
    if (arrived == 0) {
      complete = false;
      continue;
    }
    message.done = true;
    if (context_.writing()) copy_message(number, buffer, message);
  }
  if (!complete) return false;
  if (!buffer.asks.empty()) {
    // Who has answered was asked, so these have ended or will at once.
    int ended = 0;
    MPI_Testall(static_cast<int>(buffer.asks.size()), buffer.asks.data(), &ended,
                MPI_STATUSES_IGNORE);
    if (ended == 0) return false;
  }
  return control(number).arrived.load(std::memory_order_acquire) == buffer.from_node;
}

void Gathering::copy_message(std::int64_t number, Buffer& buffer, const Message& message) {
  const std::int64_t began = monotonic_ns();
  copy_message_and_buffer(*context_.plan, buffer.piece, message.rank,
                          buffer.message_data.data() + message.at, data(number));
  context_.figures.gather_ns += monotonic_ns() - began;
}

void Gathering::transfer(std::int64_t number, const Buffer& buffer) {
  if (!status_.ok()) return;
  status_ = context_.writing() ? move(buffer, data(number)) : fill(buffer, data(number));
  if (status_.ok()) return;
  context_.group.failed_request().store(context_.request, std::memory_order_relaxed);
}

Status Gathering::move(const Buffer& buffer, std::byte* data) {
  if (buffer.in_bundle) {
    return transfer_.move(buffer.piece, context_.bundles->extents(buffer.piece), data);
  }
  return transfer_.move(buffer.piece,
                        buffer.whole
                            ? plan::PieceExtents(buffer.piece)
                            : plan::PieceExtents(*context_.plan, buffer.piece, buffer.contributors),
                        data);
}

Status Gathering::fill(const Buffer& buffer, std::byte* data) {
  using Target = array::StridedCopy::Target;
  StoreChoice& choice = context_.stores.filling;
  const std::int64_t bytes = buffer.piece.bytes;
  const Target target = choice.next(bytes);
  const std::int64_t began = processor_ns();
  Status filled;
  if (target == Target::cached) {
    filled = move(buffer, data);
  } else {
    // The system stores through the caches: into those of this rank's core, and from there past
    // the others'.
    if (staging_.size() < static_cast<std::size_t>(bytes)) {
      staging_.resize(static_cast<std::size_t>(bytes));
    }
    filled = move(buffer, staging_.data());
    array::StridedCopy whole;
    whole.bytes = bytes;
    whole.run(staging_.data(), data, Target::streamed);
  }
  choice.took(target, bytes, processor_ns() - began);
  return filled;
}

}  // namespace weir::aggregation
