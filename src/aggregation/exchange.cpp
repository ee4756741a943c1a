#include "aggregation/exchange.hpp"

#include <algorithm>
#include <utility>

#include "aggregation/share_copy.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

constexpr auto most_parcels = static_cast<std::size_t>(plan::most_messages_under_way);
// What a rank reads in one request, if it is more, has left its caches before anybody looks at it.
constexpr std::int64_t cached_bytes = 4 << 20;

}  // namespace

Exchange::Pieces::Pieces(const MoveContext& context, bool on_node)
    : context_(context), on_node_(on_node), pieces_(context.plan, context.rank) {
  advance();
}

void Exchange::Pieces::advance() {
  while ((left_ = pieces_.next(id_))) {
    const std::int64_t aggregator = context_.plan->rank_of(id_.aggregator);
    if (context_.group.is_on_node(aggregator) == on_node_) return;
  }
}

Exchange::Exchange(MoveContext context)
    : context_(std::move(context)),
      asked_(context_.plan->parameters().strategy == plan::Strategy::server_directed),
      credits_(static_cast<int>(plan::most_pieces_ahead)) {
  const std::int64_t began = monotonic_ns();
  context_.turns_per_step = turns_for(context_.plan->most_parts(), context_.buffers);
  on_node_.emplace(context_, true);
  if (context_.group.nodes() > 1 &&
      plan::gathers_within(context_.plan->parameters().strategy) != topology::GatherWithin::node) {
    between_nodes_.emplace(context_, false);
    if (asked_) count_asks();
  }
  if (const auto aggregator = context_.plan->aggregator_at(context_.rank)) {
    gathering_ = std::make_unique<Gathering>(context_, *aggregator);
  }
  context_.figures.plan_ns += monotonic_ns() - began;
}

void Exchange::count_asks() {
  for (; between_nodes_->left(); between_nodes_->advance()) ++asks_left_;
}

bool Exchange::done() const {
  return !on_node_->left() && (!between_nodes_ || !between_nodes_->left()) && asks_left_ == 0 &&
         parcels_busy_ == 0 && (gathering_ == nullptr || gathering_->done());
}

bool Exchange::step() {
  if (context_.group.revocation().is_revoked()) return false;
  heard_ = context_.group.own_bell().count();
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
  const std::int64_t holder = group.holder_at(context_.plan->rank_of(id.aggregator));
  const std::int64_t number = context_.buffer_of(id);
  if (group.control(holder, number).open.load(std::memory_order_acquire) != context_.ticket_of(id))
    return false;
  const std::int64_t began = monotonic_ns();
  const plan::Piece piece = context_.plan->piece(id);
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
  if (context_.plan->bundle(piece.id.array) != nullptr) {
    const auto layout_of = [&](int array, std::int64_t part) -> const array::Layout& {
      return *context_.part_of(array).part->pieces[static_cast<std::size_t>(part)].layout;
    };
    return copy_bundle(context_.bundles->copies(piece, layout_of), context_.writing(),
                       context_.parts, buffer);
  }
  const auto copy = [&](Target target) {
    return copy_memory_and_buffer(*context_.plan, piece, context_.rank, context_.parts, buffer,
                                  target);
  };
  if (!context_.writing()) {
    return copy(context_.figures.bytes_asked >= cached_bytes ? Target::streamed : Target::cached);
  }
  StoreChoice& choice = context_.stores.gathering;
  const Target target = choice.next(piece.bytes);
  const std::int64_t began = processor_ns();
  const std::int64_t bytes = copy(target);
  choice.took(target, bytes, processor_ns() - began);
  return bytes;
}

bool Exchange::sleep() {
  const bool expects_messages = parcels_busy_ > 0 || asks_left_ > 0 ||
                                (between_nodes_ && between_nodes_->left()) ||
                                (gathering_ != nullptr && gathering_->expects_messages());
  if (expects_messages) return false;
  if (on_node_->left()) {
    const plan::PieceId& id = on_node_->id();
    const std::int64_t holder = context_.group.holder_at(context_.plan->rank_of(id.aggregator));
    if (!context_.group.mark(holder, context_.buffer_of(id), context_.ticket_of(id))) return true;
  }
  context_.group.own_bell().sleep(heard_, context_.group.nap_ns());
  return true;
}

bool Exchange::step_between_nodes() {
  bool moved = end_parcels();
  while (parcels_busy_ < most_parcels) {
    plan::PieceId id;
    if (!next_between_nodes(id)) break;
    auto place = std::find_if(parcels_.begin(), parcels_.end(),
                              [](const Parcel& parcel) { return !parcel.busy; });
    if (place == parcels_.end()) {
      // As many as there are at most: those under way stay where they are.
      parcels_.reserve(most_parcels);
      place = parcels_.emplace(parcels_.end());
    }
    start_parcel(*place, id);
    moved = true;
  }
  return moved;
}

bool Exchange::is_behind(int rank) const {
  return std::any_of(parcels_.begin(), parcels_.end(), [&](const Parcel& parcel) {
    return parcel.busy && parcel.unreceived_by == rank;
  });
}

bool Exchange::next_between_nodes(plan::PieceId& id) {
  if (!asked_) {
    if (!between_nodes_->left()) return false;
    id = between_nodes_->id();
    if (is_behind(static_cast<int>(context_.plan->rank_of(id.aggregator)))) return false;
    between_nodes_->advance();
    return true;
  }
  if (asks_left_ == 0) return false;
  if (!expects_ask_) {
    const Status begun = ranks::receive(asking_, ask_.data(), sizeof(Ask), MPI_ANY_SOURCE, ask_tag,
                                        context_.communicator);
    if (!begun.ok()) {
      give_up(begun.error());
      return false;
    }
    expects_ask_ = true;
  }
  const Result<bool> asked = ranks::test(asking_);
  if (!asked) give_up(asked.error());
  if (!asked || !asked.value()) return false;
  expects_ask_ = false;
  --asks_left_;
  id = asked_for(ask_);
  return true;
}

bool Exchange::end_parcels() {
  bool moved = false;
  for (Parcel& parcel : parcels_) {
    if (!parcel.busy) continue;
    const Result<bool> ended = ranks::test(parcel.pending);
    if (!ended) give_up(ended.error());
    if (!ended || !ended.value()) continue;
    if (!context_.writing()) {
      const std::int64_t began = monotonic_ns();
      context_.figures.account.handed += copy_memory_and_message(
          *context_.plan, parcel.piece, context_.rank, context_.parts, parcel.data.data());
      context_.figures.gather_ns += monotonic_ns() - began;
    }
    parcel.busy = false;
    --parcels_busy_;
    moved = true;
  }
  return moved;
}

void Exchange::start_parcel(Parcel& parcel, const plan::PieceId& id) {
  const plan::Plan& plan = *context_.plan;
  parcel.piece = plan.piece(id);
  parcel.busy = true;
  parcel.unreceived_by = no_rank;
  ++parcels_busy_;
  const std::int64_t bytes = bytes_of_share(plan, parcel.piece, context_.rank);
  const auto peer = static_cast<int>(plan.rank_of(id.aggregator));
  if (parcel.data.size() < static_cast<std::size_t>(bytes)) {
    parcel.data.resize(static_cast<std::size_t>(bytes));
  }
  const Status started = start_message(parcel, bytes, peer);
  if (!started.ok()) give_up(started.error());
}

Status Exchange::start_message(Parcel& parcel, std::int64_t bytes, int peer) {
  std::byte* const data = parcel.data.data();
  if (!context_.writing()) {
    return ranks::receive(parcel.pending, data, bytes, peer, message_tag, context_.communicator);
  }
  const std::int64_t began = monotonic_ns();
  context_.figures.account.handed +=
      copy_memory_and_message(*context_.plan, parcel.piece, context_.rank, context_.parts, data);
  context_.figures.gather_ns += monotonic_ns() - began;
  context_.figures.bytes_sent += bytes;
  if (!asked_ && credits_.take(peer)) {
    parcel.unreceived_by = peer;
    return ranks::send_synchronously(parcel.pending, data, bytes, peer, message_tag,
                                     context_.communicator);
  }
  return ranks::send(parcel.pending, data, bytes, peer, message_tag, context_.communicator);
}

}  // namespace weir::aggregation
