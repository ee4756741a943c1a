#include "aggregation/exchange.hpp"

#include <algorithm>
#include <utility>

#include "aggregation/share_copy.hpp"
#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

// Messages that a rank has under way at once.
constexpr std::size_t most_parcels = 4;
// What a rank reads in one request, if it is more, has left its caches before anybody looks at it.
constexpr std::int64_t cached_bytes = 4 << 20;
// Of a rank that nobody rings for: it looks at its deadline.
constexpr long longest_sleep_ns = 100'000'000;

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
      asked_(context_.plan->parameters().strategy == plan::Strategy::server_directed) {
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
  context_.group.own_bell().sleep(heard_, longest_sleep_ns);
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

bool Exchange::next_between_nodes(plan::PieceId& id) {
  if (!asked_) {
    if (!between_nodes_->left()) return false;
    id = between_nodes_->id();
    between_nodes_->advance();
    return true;
  }
  if (asks_left_ == 0) return false;
  if (ask_request_ == MPI_REQUEST_NULL) {
    MPI_Irecv(ask_.data(), static_cast<int>(ask_.size()), MPI_INT64_T, MPI_ANY_SOURCE, ask_tag,
              context_.communicator, &ask_request_);
  }
  int asked = 0;
  MPI_Test(&ask_request_, &asked, MPI_STATUS_IGNORE);
  if (asked == 0) return false;
  --asks_left_;
  id = asked_for(ask_);
  return true;
}

bool Exchange::end_parcels() {
  bool moved = false;
  for (Parcel& parcel : parcels_) {
    if (!parcel.busy) continue;
    int ended = 0;
    MPI_Test(&parcel.request, &ended, MPI_STATUS_IGNORE);
    if (ended == 0) continue;
    if (!context_.writing()) {
      const std::int64_t began = monotonic_ns();
      copy_memory_and_message(*context_.plan, parcel.piece, context_.rank, context_.parts,
                              parcel.data.data());
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
  ++parcels_busy_;
  const std::int64_t bytes = bytes_of_share(plan, parcel.piece, context_.rank);
  const auto peer = static_cast<int>(plan.rank_of(id.aggregator));
  if (parcel.data.size() < static_cast<std::size_t>(bytes)) {
    parcel.data.resize(static_cast<std::size_t>(bytes));
  }
  const auto count = static_cast<int>(bytes);  // of a buffer at most
  if (!context_.writing()) {
    MPI_Irecv(parcel.data.data(), count, MPI_BYTE, peer, message_tag, context_.communicator,
              &parcel.request);
    return;
  }
  const std::int64_t began = monotonic_ns();
  copy_memory_and_message(plan, parcel.piece, context_.rank, context_.parts, parcel.data.data());
  context_.figures.gather_ns += monotonic_ns() - began;
  MPI_Isend(parcel.data.data(), count, MPI_BYTE, peer, message_tag, context_.communicator,
            &parcel.request);
  context_.figures.bytes_sent += bytes;
}

}  // namespace weir::aggregation
