#include "aggregation/exchange.hpp"

#include <utility>

#include "common/clock.hpp"

namespace weir::aggregation {
namespace {

// Messages that a rank has under way at once.
constexpr std::size_t most_parcels = 4;

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

}  // namespace

Exchange::Exchange(MPI_Comm communicator, const NodeGroup& group, std::vector<PlannedPart> parts,
                   Way way, std::int64_t request, std::int64_t buffers, CollectiveFigures& figures)
    : parts_(std::move(parts)),
      context_{communicator, group, parts_, way, request, buffers, rank_in(communicator), figures} {
  const std::int64_t began = monotonic_ns();
  std::vector<Gathering::PartDuty> duties;
  std::int64_t first_turn = 0;
  for (std::size_t number = 0; number < parts_.size(); ++number) {
    const PlannedPart& part = parts_[number];
    plan::GatherPlan planned =
        plan::gather_plan(part.domains, *part.asked.part->memory, part.asked.part->section,
                          context_.rank, group.own_aggregator(), first_turn);
    first_turn += part.domains.turns();
    for (const plan::Share& share : planned.shares) {
      (group.is_aggregator_on_node(share.aggregator) ? on_node_ : between_nodes_)
          .push_back({share, number});
    }
    for (const plan::Duty& duty : planned.duties) duties.push_back({duty, number});
    memory_pieces_.push_back(std::move(planned.memory_pieces));
  }
  if (!duties.empty()) gathering_ = std::make_unique<Gathering>(context_, std::move(duties));
  if (!between_nodes_.empty()) parcels_.resize(most_parcels);
  figures.plan_ns += monotonic_ns() - began;
}

bool Exchange::done() const {
  return next_on_node_ == on_node_.size() && next_between_ == between_nodes_.size() &&
         parcels_busy_ == 0 && (gathering_ == nullptr || gathering_->done());
}

bool Exchange::step() {
  bool moved = step_on_node();
  if (!parcels_.empty()) moved = step_between_nodes() || moved;
  if (gathering_ != nullptr) {
    moved = gathering_->step() || moved;
    if (status_.ok() && !gathering_->status().ok()) status_ = gathering_->status();
  }
  return moved;
}

bool Exchange::step_on_node() {
  if (next_on_node_ == on_node_.size()) return false;
  const PartShare& share = on_node_[next_on_node_];
  const NodeGroup& group = context_.group;
  const std::int64_t number = share.share.turn % context_.buffers;
  BufferControl& control = group.control(share.share.aggregator, number);
  if (control.open.load(std::memory_order_acquire) != context_.ticket(share.share.turn)) {
    return false;
  }
  std::int64_t elements = 0;
  if (group.failed_request().load(std::memory_order_relaxed) == context_.request) {
    elements = elements_of(share);
  } else {
    const plan::PieceGrid& grid = parts_[share.part].domains.grid();
    const array::Layout layout = grid.buffer_layout(grid.box(share.share.piece));
    elements = copy_share(
        share, {Side::Kind::buffer, &layout, group.buffer(share.share.aggregator, number)});
  }
  control.arrived.fetch_add(elements, std::memory_order_release);
  ++next_on_node_;
  return true;
}

std::int64_t Exchange::elements_of(const PartShare& share) const {
  const RequestedPart& asked = parts_[share.part].asked;
  const array::Box box = parts_[share.part].domains.grid().box(share.share.piece);
  const array::Region wanted = asked.part->section.clipped(box);
  std::int64_t elements = 0;
  for (std::int64_t i = 0; i < share.share.count; ++i) {
    const std::int64_t number =
        memory_pieces_[share.part][static_cast<std::size_t>(share.share.first + i)];
    elements += array::common_elements(asked.part->memory->piece(context_.rank, number), wanted);
  }
  return elements;
}

std::int64_t Exchange::copy_share(const PartShare& share, Side other) {
  const std::int64_t began = monotonic_ns();
  const ArrayPart& asked = *parts_[share.part].asked.part;
  const plan::PieceGrid& grid = parts_[share.part].domains.grid();
  const array::Box box = grid.box(share.share.piece);
  std::int64_t elements = 0;
  for (std::int64_t i = 0; i < share.share.count; ++i) {
    const std::int64_t number =
        memory_pieces_[share.part][static_cast<std::size_t>(share.share.first + i)];
    const MemoryPiece& memory = asked.pieces[static_cast<std::size_t>(number)];
    const Side own{Side::Kind::memory, &memory.layout, memory.data};
    const array::Region held = asked.memory->piece(context_.rank, number);
    const bool writing = context_.way == Way::write;
    const std::int64_t copied = copy_blocks(held, asked.section, box, grid.element_bytes(),
                                            writing ? own : other, writing ? other : own);
    if (other.kind == Side::Kind::message) other.data += copied * grid.element_bytes();
    elements += copied;
  }
  context_.figures.gather_ns += monotonic_ns() - began;
  return elements;
}

bool Exchange::step_between_nodes() {
  bool moved = false;
  for (Parcel& parcel : parcels_) {
    if (!parcel.busy) continue;
    int ended = 0;
    MPI_Test(&parcel.request, &ended, MPI_STATUS_IGNORE);
    if (ended == 0) continue;
    if (context_.way == Way::read) {
      copy_share(between_nodes_[parcel.share], {Side::Kind::message, nullptr, parcel.data.data()});
    }
    parcel.busy = false;
    --parcels_busy_;
    moved = true;
  }
  for (Parcel& parcel : parcels_) {
    if (parcel.busy || next_between_ == between_nodes_.size()) continue;
    parcel.share = next_between_++;
    start_parcel(parcel);
    moved = true;
  }
  return moved;
}

void Exchange::start_parcel(Parcel& parcel) {
  const PartShare& share = between_nodes_[parcel.share];
  const std::int64_t bytes = elements_of(share) * parts_[share.part].domains.grid().element_bytes();
  const int peer = context_.group.rank_of_aggregator(share.share.aggregator);
  if (parcel.data.size() < static_cast<std::size_t>(bytes)) {
    parcel.data.resize(static_cast<std::size_t>(bytes));
  }
  parcel.busy = true;
  ++parcels_busy_;
  if (context_.way == Way::write) {
    copy_share(share, {Side::Kind::message, nullptr, parcel.data.data()});
    MPI_Isend(parcel.data.data(), static_cast<int>(bytes), MPI_BYTE, peer, message_tag,
              context_.communicator, &parcel.request);
    context_.figures.bytes_sent += bytes;
  } else {
    MPI_Irecv(parcel.data.data(), static_cast<int>(bytes), MPI_BYTE, peer, message_tag,
              context_.communicator, &parcel.request);
  }
}

}  // namespace weir::aggregation
