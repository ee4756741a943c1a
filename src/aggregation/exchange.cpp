#include "aggregation/exchange.hpp"

#include <fmt/format.h>

#include <utility>

#include "aggregation/share_copy.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

// A rank that reads more than this in one request no longer has the data in its caches when they
// are used.
constexpr std::int64_t cached_bytes = 4 << 20;

}  // namespace

Exchange::Pieces::Pieces(const MoveContext& context, bool on_node)
    : context_(context), on_node_(on_node), pieces_(context.pieces->of_rank()) {
  advance();
}

void Exchange::Pieces::advance() {
  while ((left_ = pieces_.next(id_))) {
    aggregator_ = context_.pieces->rank_of(id_.aggregator);
    if (context_.group.is_on_node(aggregator_) == on_node_) return;
  }
}

Exchange::Exchange(MoveContext context)
    : context_(std::move(context)),
      asked_(context_.writing() &&
             context_.plan->parameters().strategy == plan::Strategy::server_directed) {
  const std::int64_t began = monotonic_ns();
  context_.turns = plan::BufferTurns(context_.plan->most_parts(), context_.buffers);
  on_node_.emplace(context_, true);
  if (context_.group.nodes() > 1 &&
      plan::gathers_within(context_.plan->parameters().strategy) != topology::GatherWithin::node) {
    between_nodes_.emplace(context_, false);
    at_once_ = plan::messages_at_once(*context_.plan, context_.buffers);
    come_to_next();
  }
  if (const auto aggregator = context_.plan->aggregator_at(context_.rank)) {
    gathering_ = std::make_unique<Gathering>(context_, *aggregator);
  }
  context_.figures.plan_ns += monotonic_ns() - began;
}

bool Exchange::done() const {
  return !on_node_->left() && (!between_nodes_ || !between_nodes_->left()) && messages_.empty() &&
         (gathering_ == nullptr || gathering_->done());
}

bool Exchange::step() {
  if (context_.group.revocation().is_revoked()) return false;
  seen_wake_ups_ = context_.group.own_wake_up().count();
  bool moved = step_on_node();
  if (between_nodes_) moved = step_between_nodes() || moved;
  if (gathering_ != nullptr) {
    moved = gathering_->step() || moved;
    if (status_.ok() && !gathering_->status().ok()) status_ = gathering_->status();
  }
  return moved;
}

bool Exchange::step_on_node() {
  if (!on_node_->left()) return false;
  const plan::PieceId& id = on_node_->id();
  const NodeGroup& group = context_.group;
  const std::int64_t holder = group.holder_at(on_node_->aggregator());
  const std::int64_t number = context_.turns.buffer_of(id);
  if (group.control(holder, number).open.load(std::memory_order_acquire) != context_.ticket_of(id))
    return false;
  const std::int64_t began = monotonic_ns();
  const plan::Piece piece = context_.pieces->piece(id);
  const bool in_vain = group.failed_request().load(std::memory_order_relaxed) == context_.request;
  const std::int64_t bytes = in_vain ? bytes_of_share(*context_.plan, piece, context_.rank)
                                     : copy_share(piece, group.buffer(holder, number));
  context_.figures.gather_ns += monotonic_ns() - began;
  context_.figures.account.handed += bytes;
  group.arrive(holder, number, bytes);
  on_node_->advance();
  return true;
}

std::int64_t Exchange::copy_share(const plan::Piece& piece, std::byte* buffer) {
  using Target = array::StridedCopy::Target;
  const auto layout_of = [this](int array, std::int64_t part) -> const array::Layout& {
    return *context_.part_of(array).part->pieces[static_cast<std::size_t>(part)].layout;
  };
  const plan::CachedPieces::Copies* const known = context_.pieces->copies(piece, layout_of);
  const auto copy = [&](Target target) {
    return known != nullptr
               ? copy_as_known(*known, context_.writing(), context_.parts, buffer, target)
               : copy_memory_and_buffer(*context_.plan, piece, context_.rank, context_.parts,
                                        buffer, target);
  };
  if (context_.plan->bundle(piece.id.array) != nullptr) return copy(Target::cached);
  if (!context_.writing()) {
    return copy(context_.figures.bytes_asked >= cached_bytes ? Target::streamed : Target::cached);
  }
  return context_.stores.gathering.run(piece.bytes, copy);
}

bool Exchange::sleep(std::int64_t naps_before) {
  const bool expects_messages = !messages_.empty() || (between_nodes_ && between_nodes_->left()) ||
                                (gathering_ != nullptr && gathering_->expects_messages());
  if (expects_messages) return false;
  if (on_node_->left()) {
    const plan::PieceId& id = on_node_->id();
    const std::int64_t holder = context_.group.holder_at(on_node_->aggregator());
    if (!context_.group.mark(holder, context_.turns.buffer_of(id), context_.ticket_of(id)))
      return true;
  }
  context_.group.own_wake_up().sleep(seen_wake_ups_, context_.group.nap_ns(naps_before),
                                     context_.group.ranks_per_core());
  return true;
}

bool Exchange::step_between_nodes() {
  bool moved = false;
  for (auto message = messages_.begin(); message != messages_.end();) {
    if (!move_on(*message)) {
      ++message;
      continue;
    }
    message = messages_.erase(message);
    moved = true;
  }
  // Only one message begins at a time, so that a complete message is sent before the next one is
  // packed.
  return (between_nodes_->left() && begin_next()) || moved;
}

void Exchange::come_to_next() const {
  MessageSlots::Position position;
  if (between_nodes_->left()) {
    const plan::PieceId& id = between_nodes_->id();
    const auto turn = static_cast<std::uint64_t>(context_.turns.turn_of(id));
    const auto among =
        static_cast<std::uint64_t>(context_.plan->turn_for(context_.rank, id.aggregator));
    const auto aggregators = static_cast<std::uint64_t>(context_.plan->aggregators());
    position = {context_.request, turn * aggregators + among};
  } else {
    position = {context_.request, MessageSlots::no_piece_left};
  }
  context_.group.slots().come_to(position);
}

std::vector<plan::NodeMessage> Exchange::messages_of_node(const plan::Piece& piece) const {
  const std::int64_t began = monotonic_ns();
  const auto contributors = context_.pieces->contributors_on_node(piece);
  auto messages = plan::node_messages(*context_.plan, piece.id, contributors);
  context_.figures.plan_ns += monotonic_ns() - began;
  return messages;
}

bool Exchange::begin_next() {
  const plan::PieceId& id = between_nodes_->id();
  if (!next_) {
    next_ = context_.pieces->piece(id);
    has_share_of_next_ = bytes_of_share(*context_.plan, *next_, context_.rank) > 0;
  }
  if (has_share_of_next_) {
    MessageSlots::Slot* const slot =
        context_.group.slots().find({context_.ticket_of(id), id.aggregator}, context_.rank,
                                    at_once_, [&] { return messages_of_node(*next_); });
    if (slot == nullptr) return false;
    begin_message(*slot, std::move(*next_), MessageSlots::share_of(*slot, context_.rank));
  }
  next_.reset();
  between_nodes_->advance();
  come_to_next();
  return true;
}

void Exchange::copy_share_of_message(const plan::Piece& piece, std::byte* share) {
  const std::int64_t began = monotonic_ns();
  context_.figures.account.handed +=
      copy_memory_and_message(*context_.plan, piece, context_.rank, context_.parts, share);
  context_.figures.gather_ns += monotonic_ns() - began;
}

void Exchange::begin_message(MessageSlots::Slot& slot, plan::Piece piece,
                             const plan::NodeShare& share) {
  const MessageSlots& slots = context_.group.slots();
  const bool carries = MessageSlots::courier_of(slot) == context_.rank;
  if (context_.writing() && !carries) {
    copy_share_of_message(piece, slots.data(slot) + share.offset);
    MessageSlots::hand_over(slot, share.bytes);  // the slot may now be reused
    return;
  }
  Message& message = messages_.emplace_back(Message{.slot = slot,
                                                    .piece = std::move(piece),
                                                    .share = share,
                                                    .data = slots.data(slot),
                                                    .carries = carries});
  const std::int64_t bytes = MessageSlots::bytes_of(slot);
  if (message.data == nullptr) {
    message.own_data.make_room(bytes);
    message.data = message.own_data.data();
  }
  const int aggregator = aggregator_of(message);
  Status begun;
  if (context_.writing()) {
    copy_share_of_message(message.piece, message.data + share.offset);
    MessageSlots::hand_over(slot, share.bytes);
    if (asked_) {
      begun = ranks::receive(message.asking, message.ask.data(), sizeof(Ask), aggregator, ask_tag,
                             context_.communicator);
    }
  } else if (carries) {
    begun = ranks::receive(message.pending, message.data, bytes, aggregator, message_tag,
                           context_.communicator);
  }
  if (!begun.ok()) give_up(begun.error());
}

bool Exchange::move_on(Message& message) {
  const Result<bool> ended = context_.writing() ? send(message) : take_from(message);
  if (!ended) give_up(ended.error());
  return ended && ended.value();
}

bool Exchange::is_next_to_its_aggregator(const Message& message) const {
  for (const Message& earlier : messages_) {
    if (&earlier == &message) return true;
    if (!earlier.started && aggregator_of(earlier) == aggregator_of(message)) return false;
  }
  return true;
}

Result<bool> Exchange::has_been_asked(Message& message) {
  if (!asked_) return true;
  Result<bool> asked = ranks::test(message.asking);
  if (!asked || !asked.value() || message.ask == ask_for(message.piece.id)) return asked;
  return Error(
      ErrorCode::communication,
      fmt::format("internal error: rank {} requested a piece that is not the next one of the plan",
                  aggregator_of(message)));
}

Result<bool> Exchange::send(Message& message) {
  if (!message.started) {
    // The aggregator receives the messages of a rank in the order in which they are sent.
    if (!MessageSlots::is_complete(message.slot) || !is_next_to_its_aggregator(message)) {
      return false;
    }
    auto asked = has_been_asked(message);
    if (!asked || !asked.value()) return asked;
    message.started = true;
    const std::int64_t bytes = MessageSlots::bytes_of(message.slot);
    const Status begun =
        ranks::send_synchronously(message.pending, message.data, bytes, aggregator_of(message),
                                  message_tag, context_.communicator);
    if (!begun.ok()) return begun.error();
    context_.figures.bytes_sent += bytes;
  }
  Result<bool> sent = ranks::test(message.pending);
  if (sent && sent.value()) MessageSlots::free(message.slot);
  return sent;
}

Result<bool> Exchange::take_from(Message& message) {
  if (message.carries && !message.started) {
    Result<bool> received = ranks::test(message.pending);
    if (!received || !received.value()) return received;
    message.started = true;
    MessageSlots::set_come(message.slot);
  }
  if (!MessageSlots::has_come(message.slot)) return false;
  copy_share_of_message(message.piece, message.data + message.share.offset);
  if (MessageSlots::hand_over(message.slot, message.share.bytes)) MessageSlots::free(message.slot);
  return true;
}

}  // namespace weir::aggregation
